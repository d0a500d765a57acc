// Puts a button to each block of code that copies it. The pages are complete without it.
const said = document.createElement("p")
said.className = "said"
said.setAttribute("role", "status")
document.body.append(said)

// copyable adds a button to a block of code. A long block can be scrolled by keys.
export function copyable(pre) {
  const code = pre.querySelector("code") ?? pre
  if (code.scrollWidth > code.clientWidth || code.scrollHeight > code.clientHeight) code.tabIndex = 0
  if (!navigator.clipboard) return
  const text = pre.textContent.trimEnd()
  const isPrompt = pre.className === "prompt"
  const button = document.createElement("button")
  button.type = "button"
  button.className = isPrompt ? "primary" : "copy"
  const label = button.textContent = isPrompt ? "Copy the prompt" : "Copy"
  button.addEventListener("click", async () => {
    let done = "Copied"
    try {
      await navigator.clipboard.writeText(text)
    } catch {
      done = "Select it and copy by hand"
    }
    button.textContent = said.textContent = done
    setTimeout(() => { button.textContent = label; said.textContent = "" }, 2000)
  })
  if (isPrompt) pre.after(button)
  else pre.prepend(button)
}

document.querySelectorAll("main pre").forEach(copyable)

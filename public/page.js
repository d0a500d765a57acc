// Puts a button into each block of code that copies it. The pages are complete without it.
const said = document.createElement("p")
said.className = "said"
said.setAttribute("role", "status")
document.body.append(said)

for (const pre of navigator.clipboard ? document.querySelectorAll("main pre") : []) {
  const button = document.createElement("button")
  button.type = "button"
  button.className = "copy"
  button.textContent = "Copy"
  button.addEventListener("click", async () => {
    const code = [...pre.childNodes].filter((node) => node !== button).map((node) => node.textContent).join("")
    let done = "Copied"
    try {
      await navigator.clipboard.writeText(code.trimEnd())
    } catch {
      done = "Select it and copy by hand"
    }
    button.textContent = said.textContent = done
    setTimeout(() => { button.textContent = "Copy"; said.textContent = "" }, 2000)
  })
  pre.prepend(button)
  const code = pre.querySelector("code")
  if (code?.scrollWidth > code?.clientWidth) code.tabIndex = 0 // so that the arrow keys scroll it
}

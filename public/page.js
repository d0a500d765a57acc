// Puts a button beside each block of code that copies it. The pages are complete without it.
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
    let done = "Copied"
    try {
      await navigator.clipboard.writeText(pre.textContent.trimEnd())
    } catch {
      done = "Select and copy by hand"
    }
    button.textContent = said.textContent = done
    setTimeout(() => { button.textContent = "Copy"; said.textContent = "" }, 2000)
  })
  const box = document.createElement("div")
  box.className = "copyable"
  pre.replaceWith(box)
  box.append(pre, button)
}

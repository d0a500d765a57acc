// Adds a button to each block of code that copies it. The pages are complete without it.
const said = document.createElement("p")
said.className = "said"
said.setAttribute("role", "status")
document.body.append(said)

// say announces a text.
export function say(text) {
  said.textContent = text
}

// copies makes a button copy a text, and say so.
export function copies(button, text) {
  const label = button.textContent
  button.addEventListener("click", async () => {
    let done = "Copied"
    try {
      await navigator.clipboard.writeText(text)
    } catch {
      done = "Select it and copy by hand"
    }
    button.textContent = done
    say(done)
    setTimeout(() => { button.textContent = label; say("") }, 2000)
  })
  button.hidden = false
}

// copyable adds a button to the caption of a block of code.
export function copyable(figure) {
  const caption = figure.querySelector("figcaption")
  if (!navigator.clipboard || !caption || figure.querySelector(".prompt")) return
  const button = document.createElement("button")
  button.type = "button"
  button.className = "small"
  button.textContent = "Copy"
  caption.append(button)
  copies(button, figure.querySelector("pre").textContent.trimEnd())
}

document.querySelectorAll("main .code").forEach(copyable)
const prompt = document.getElementById("copy-prompt")
if (prompt && navigator.clipboard) copies(prompt, [...document.querySelectorAll(".prompt")].map((pre) => pre.textContent).join("\n\n"))

// Shows the address of a request for which there is no page, and the page with the nearest address.
const asked = location.pathname;
document.getElementById("address").textContent = asked.slice(0, 200);

// distance is the number of characters to insert, delete or replace (Levenshtein).
function distance(a, b) {
  let row = [...b].map((_, i) => i + 1);
  [...a].forEach((x, i) => {
    let left = i + 1;
    let corner = i;
    row = row.map((up, j) => {
      left = Math.min(up + 1, left + 1, corner + (x !== b[j]));
      corner = up;
      return left;
    });
  });
  return row.at(-1);
}

const name = (path) => path.replace(/\/$/, "").split("/").pop().replace(/\.html.*$/, "").toLowerCase().slice(0, 40);
const [[far, page]] = [...document.querySelectorAll("main .groups li a")]
  .map((link) => [distance(name(asked), name(link.pathname)), link]).sort(([a], [b]) => a - b);
if (name(asked) && far <= 3) {
  const nearest = document.getElementById("nearest");
  nearest.href = page.href;
  nearest.textContent = page.textContent;
  nearest.parentElement.previousElementSibling.textContent = "nearest page";
}

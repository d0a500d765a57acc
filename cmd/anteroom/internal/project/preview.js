// Reloads the page when anteroom preview has generated it again.
let seen;
setInterval(async () => {
  try {
    const answer = await fetch("/preview-version", { cache: "no-store" });
    const version = await answer.text();
    if (seen && version !== seen) location.reload();
    seen = version;
  } catch {} // the preview has ended, or begins again
}, 500);

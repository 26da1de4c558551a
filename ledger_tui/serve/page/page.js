// What the terminal's own script leaves to the page: the keys go to the app at once, and an ended window can be opened again.
window.addEventListener("load", () => {
  document.querySelector(".xterm-helper-textarea").focus();
  document.getElementById("again").addEventListener("click", () => window.location.reload());
});

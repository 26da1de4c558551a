// What the terminal's own script leaves to the page: keys go to the app at once, and an ended window can be opened again.
window.addEventListener("load", () => {
  const connected = new MutationObserver(() => {
    if (document.body.classList.contains("-loaded")) {
      connected.disconnect();
      document.querySelector(".xterm-helper-textarea").focus();
    }
  });
  connected.observe(document.body, { attributeFilter: ["class"] });
  document.getElementById("again").addEventListener("click", () => window.location.reload());
});

// Applies the chosen color scheme before the page is drawn.
try {
  const scheme = localStorage.getItem("theme");
  if (scheme) document.documentElement.dataset.theme = scheme;
} catch { /* pages without storage follow the system */ }

// The entry point of the web UI.
import "./style/main.css";
import { render } from "preact";
import { App } from "./app";
import { startKeys } from "./keys";
import { loadMe } from "./me";
import { startPrefs } from "./prefs";
import { startRouter } from "./router";
import { startTheme } from "./theme";
import { holdKeys } from "./typeahead";

startTheme();
startPrefs();
startRouter();
startKeys();
if (/^\/sessions\/[^/]+(\/log)?$/.test(location.pathname)) holdKeys();
void loadMe();
render(<App />, document.getElementById("app")!);

// Where the page begins.
import { render } from "preact";
import { isReport } from "../api/report.ts";
import { startKeys } from "../state/commands.ts";
import { startLive } from "../state/live.ts";
import { startNotices } from "../state/notices.ts";
import { startReport } from "../state/report.ts";
import { loadWords } from "../state/schema.ts";
import { startList } from "../state/sessions.ts";
import { App } from "./App.tsx";
import "./style.css";
import "./numbers.css";

void loadWords();
if (isReport) {
  void startReport();
} else {
  startLive();
  startNotices();
  startList();
}
startKeys();
const root = document.getElementById("app");
if (root) render(<App />, root);

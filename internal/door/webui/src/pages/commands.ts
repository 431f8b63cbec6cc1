// CLI commands equivalent to actions on sessions.
import { free, shell } from "../format";
import type { Session } from "../wire";

const ids = (s: Session[]) => s.map((x) => shell(x.id)).join(" ");

// fileName returns the name of an exported file.
export function fileName(s: Session, format: string): string {
  return `${s.id}.${format === "html" ? "html" : "jsonl"}`;
}

export const commands = {
  archive: (s: Session[], on: boolean) => `firn archive ${on ? "" : "--undo "}${ids(s)}`,
  hide: (s: Session[], on: boolean) => (on ? `firn rm ${ids(s)}` : s.map((x) => `firn restore ${shell(x.id)}`).join("\n")),
  tag: (s: Session[], add: string[], drop: string[]) =>
    s.map((x) => ["firn tag", shell(x.id), ...add.map((t) => shell("+" + t)), ...drop.map((t) => shell("-" + t))].join(" ")).join("\n"),
  export: (s: Session[], format: string) => s.map((x) => `firn export ${shell(x.id)} --format ${format} -o ${shell(fileName(x, format))}`).join("\n"),
  rename: (s: Session, title: string) => `firn rename ${shell(s.id)} ${free(title || "TITLE")}`,
};

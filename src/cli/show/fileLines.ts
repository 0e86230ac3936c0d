import type { FileChangeView, FileStateView } from "../../inspect.ts";
import { bytesText } from "../terminal/shortTexts.ts";
import type { Output } from "../terminal/Output.ts";
import { type Paint, painted } from "../terminal/painted.ts";

const paints: Readonly<Record<FileChangeView["change"], Paint>> = {
  created: "green",
  modified: "yellow",
  deleted: "red",
};

/** Prints file changes under a title. Prints no title without changes. */
export async function fileLines(output: Output, title: string, files: readonly FileChangeView[]): Promise<void> {
  if (files.length === 0) return;
  await output.line();
  await output.line(painted("bold", title));
  const rows = files.map(({ path, change, before, after }) => [
    painted(paints[change], change),
    path,
    `${stateText(before)} → ${stateText(after)}`,
  ]);
  await output.table(["CHANGE", "FILE", "SIZE"], rows);
}

function stateText(state: FileStateView | undefined): string {
  if (state === undefined) return "none";
  return state.kind === "file" ? bytesText(state.bytes) : `link to ${state.target}`;
}

import type { ShownValue } from "../../inspect.ts";
import { jsonText } from "../terminal/jsonText.ts";
import { plain } from "../terminal/painted.ts";
import { shown } from "./shown.ts";

/** The maximum length of texts that are compared. */
const longest = 50_000;

export interface ChangedLine {
  readonly sign: "+" | "-" | " ";
  readonly text: string;
}

export async function changedLines(
  before: ShownValue | undefined,
  after: ShownValue | undefined,
): Promise<readonly ChangedLine[]> {
  const [old, current] = [textOf(before), textOf(after)];
  if (old.length + current.length > longest)
    return [...lines("-", plain(shown(before))), ...lines("+", plain(shown(after)))];
  const { diffLines } = await import("diff");
  return diffLines(old, current).flatMap(({ value, added, removed }) =>
    lines(added ? "+" : removed ? "-" : " ", value.replace(/\n$/, "")),
  );
}

function lines(sign: ChangedLine["sign"], text: string): readonly ChangedLine[] {
  return text === "" ? [] : text.split("\n").map((line) => ({ sign, text: line }));
}

function textOf(value: ShownValue | undefined): string {
  if (value === undefined) return "";
  if ("unreadable" in value) return `${plain(shown(value))}\n`;
  return `${typeof value.value === "string" ? value.value : jsonText(value.value, 2)}\n`;
}

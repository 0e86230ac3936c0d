export type Paint = "red" | "green" | "yellow" | "blue" | "magenta" | "cyan" | "dim" | "bold" | "strikethrough";

export interface Painted {
  readonly text: string;
  readonly paint: Paint;
}

/** A part of a line. The text may come from a log. The output escapes control characters. */
export type Part = string | Painted;

export function painted(paint: Paint, text: string): Painted {
  return { text, paint };
}

export function plain(parts: Part | readonly Part[]): string {
  return typeof parts === "string" ? parts : "text" in parts ? parts.text : parts.map((part) => plain(part)).join("");
}

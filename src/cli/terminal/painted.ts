/** How a text is painted on a terminal with colors. */
export type Paint = "red" | "green" | "yellow" | "blue" | "magenta" | "cyan" | "dim" | "bold" | "strikethrough";

/** A text with its paint. */
export interface Painted {
  readonly text: string;
  readonly paint: Paint;
}

/** A part of a line. Its text may come from a log: it is made harmless where it is written. */
export type Part = string | Painted;

/** A text in a paint. */
export function painted(paint: Paint, text: string): Painted {
  return { text, paint };
}

/** The text of parts, without paint. */
export function plain(parts: Part | readonly Part[]): string {
  return typeof parts === "string" ? parts : "text" in parts ? parts.text : parts.map((part) => plain(part)).join("");
}

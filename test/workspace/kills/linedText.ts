const length = 12;

/** A text in which each line says who wrote it, so that a torn or mixed text is seen. */
export function linedText(author: string): string {
  return Array.from({ length }, (_, at) => `${at} ${author}\n`).join("");
}

/** The text with one line of another author. */
export function withLine(text: string, at: number, author: string): string {
  return text.replace(new RegExp(`^${at} .*$`, "m"), `${at} ${author}`);
}

/** Whether a text has all its lines, whoever wrote them. */
export function isLinedText(text: string): boolean {
  const lines = text.split("\n");
  return (
    lines.length === length + 1 &&
    lines.pop() === "" &&
    lines.every((line, at) => /^\d+ \S+$/.test(line) && line.startsWith(`${at} `))
  );
}

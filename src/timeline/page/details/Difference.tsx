import { diffLines } from "diff";
import { useMemo } from "preact/hooks";
import { TextBlock } from "./TextBlock.tsx";

/** Limits in characters and milliseconds above which both texts are shown completely. */
const limits = { characters: 400_000, milliseconds: 300 };

interface DifferenceProps {
  readonly before: string | undefined;
  readonly after: string | undefined;
}

export function Difference({ before, after }: DifferenceProps) {
  const parts = useMemo(() => changesOf(before ?? "", after ?? ""), [before, after]);
  if (parts === undefined) return <Both before={before} after={after} />;
  return (
    <pre class="code difference">
      {parts.map(({ added, removed, value }) => {
        if (added) return <ins>{marked("+ ", value)}</ins>;
        if (removed) return <del>{marked("− ", value)}</del>;
        return <span>{marked("  ", shortened(value))}</span>;
      })}
    </pre>
  );
}

function changesOf(before: string, after: string) {
  if (before.length + after.length > limits.characters) return undefined;
  return diffLines(withEnd(before), withEnd(after), { timeout: limits.milliseconds });
}

function withEnd(text: string): string {
  return text === "" || text.endsWith("\n") ? text : `${text}\n`;
}

function marked(mark: string, text: string): string {
  const lines = text.endsWith("\n") ? text.slice(0, -1) : text;
  return lines
    .split("\n")
    .map((line) => `${mark}${line}\n`)
    .join("");
}

/** Shortens a long unchanged part to its first and last lines. */
function shortened(text: string): string {
  const lines = text.split("\n");
  if (lines.length <= 9) return text;
  return [...lines.slice(0, 3), `⋯ ${lines.length - 7} lines are the same`, ...lines.slice(-4)].join("\n");
}

function Both({ before, after }: DifferenceProps) {
  return (
    <div class="both">
      <h4>Before</h4>
      <TextBlock text={before ?? ""} />
      <h4>After</h4>
      <TextBlock text={after ?? ""} />
    </div>
  );
}

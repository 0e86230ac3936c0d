import type { TimelineItem, TimelineStep } from "../../data/TimelineData.ts";
import { durationText } from "../../layout/durations.ts";
import { shortValue } from "./StepRow.tsx";
import { timeText } from "./timeText.ts";

type MarkItem = Exclude<TimelineItem, TimelineStep>;

/** What is no step, in one line: a run, a rollback, an owner, a change of status, damage. */
export function MarkRow({ item }: { readonly item: MarkItem }) {
  return (
    <div class={`marker ${item.kind}${item.kind === "owner" && item.cut ? " cut" : ""}`}>
      <span class="words">
        <b>{titleOfMark(item)}</b> {textOfMark(item)}
      </span>
      <time>{timeText(item.at)}</time>
    </div>
  );
}

export function GapRow({ milliseconds }: { readonly milliseconds: number }) {
  return (
    <div class="pause">
      <span>{`${durationText(milliseconds)} later`}</span>
    </div>
  );
}

/** What such an item is called. */
export function titleOfMark(item: MarkItem): string {
  switch (item.kind) {
    case "run":
      return "Run";
    case "rollback":
      return item.finished ? "Rollback" : "Rollback, not finished";
    case "owner":
      return item.cut ? "Taken over after a crash" : "New owner";
    case "note":
      return item.title;
    case "damage":
      return "Damage";
  }
}

function textOfMark(item: MarkItem): string {
  switch (item.kind) {
    case "run":
      return shortValue(item.input);
    case "rollback":
      return rollbackText(item.calls.map(({ result }) => result));
    case "owner":
      return [`generation ${item.generation}`, item.process].filter(Boolean).join(", ");
    case "note":
      return shortValue(item.text ?? "");
    case "damage":
      return item.text;
  }
}

function rollbackText(results: readonly string[]): string {
  if (results.length === 0) return "no calls to revert";
  const kinds = [...new Set(results)];
  return kinds.map((kind) => `${results.filter((result) => result === kind).length} ${kind}`).join(", ");
}

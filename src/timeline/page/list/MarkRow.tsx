import type { RevertedCall, TimelineItem, TimelineStep } from "../../data/TimelineData.ts";
import { durationText, timeText } from "../../layout/durations.ts";
import { oneLineValue } from "./StepRow.tsx";

type MarkItem = Exclude<TimelineItem, TimelineStep>;

/** A one-line row for a run, a rollback, an owner, a status change or damage. */
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

export function titleOfMark(item: MarkItem): string {
  switch (item.kind) {
    case "run":
      return "Run";
    case "rollback":
      return `${item.redo ? "Redo" : "Rollback"}${item.finished ? "" : ", not finished"}`;
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
      return oneLineValue(item.input);
    case "rollback":
      return rollbackText(
        item.calls.map(({ result }) => result),
        item.finished,
      );
    case "owner":
      return `generation ${item.generation}`;
    case "note":
      return oneLineValue(item.text ?? "");
    case "damage":
      return item.text;
  }
}

function rollbackText(results: readonly RevertedCall["result"][], finished: boolean): string {
  const countOf = (...kinds: readonly RevertedCall["result"][]): number =>
    results.filter((result) => kinds.includes(result)).length;
  const [reverted, failed, open] = [countOf("reverted"), countOf("failed"), countOf("failed", "pending")];
  const stay = countOf("irreversible", "skipped");
  if (results.length === 0) return "no calls to revert";
  return [
    `${reverted} reverted`,
    open > 0 && `${open} ${finished ? "not reverted" : "to go"}${failed > 0 ? ` (${failed} failed)` : ""}`,
    stay > 0 && `${stay} ${stay === 1 ? "effect stays" : "effects stay"}`,
  ]
    .filter(Boolean)
    .join(", ");
}

import type { LogStep, OwnerStep, RollbackStep, RunStep, StatusStep } from "../../inspect/view/StepView.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { EntryView } from "../../inspect/view/viewParts.ts";
import type { ShownTexts } from "./ShownTexts.ts";
import { timeOf, keyOfCheckpoint } from "./timelineStep.ts";
import type { RevertedCall, TimelineItem } from "./TimelineData.ts";

export type MarkView = RollbackStep | RunStep | StatusStep | OwnerStep | LogStep;

export function timelineMark(step: MarkView, texts: ShownTexts, records: readonly string[]): TimelineItem {
  const base = withoutUndefined({ key: `${step.kind} ${step.order}`, at: timeOf(step.at) });
  switch (step.kind) {
    case "run":
      return { ...base, kind: "run", run: step.run.runId, input: texts.of(step.run.input, ["input"]) };
    case "owner":
      return { ...base, kind: "owner", generation: step.generation, cut: step.tookOver };
    case "status":
      return noteOfStatus(base, step, texts);
    case "log":
      return { ...base, kind: "note", title: logTitles[step.what], text: step.agentId ?? "" };
    case "rollback":
      return rollbackItem(base, step, texts, records);
  }
}

/** Returns an append to a log that does not belong to an agent. */
export function timelineAppend(
  { position, records }: EntryView,
  texts: ShownTexts,
  hidesRecords: boolean,
): TimelineItem {
  const kinds = [...new Set(records.map(({ kind }) => kind))];
  const counts = kinds.map((name) => `${records.filter(({ kind }) => kind === name).length} ${name}`);
  return withoutUndefined({
    key: `append ${position}`,
    at: records.map(timeOfRecord).find((time) => time !== undefined),
    kind: "note" as const,
    title: `Append ${position}`,
    text: counts.join(", "),
    records: hidesRecords ? [] : records.map((record) => texts.plain(record, ["records"])),
  });
}

/** Returns the time in a record of another kind of log, if any. */
function timeOfRecord({ at, ts }: EntryView["records"][number]): number | undefined {
  return typeof at === "number" ? at : timeOf(typeof ts === "string" ? ts : undefined);
}

type Base = Pick<TimelineItem, "key" | "at">;

const statusTitles = {
  queued: "Queued",
  in_progress: "Goes on",
  failed: "Failed",
  paused: "Paused",
  waiting: "Waits",
} as const;

const logTitles = {
  forked: "Forked from",
  here: "Moved here",
  moving: "Is being moved",
  moved: "Moved away",
  copied: "Copied",
  pruned: "Pruned: older steps are gone",
} as const;

function noteOfStatus(base: Base, { status, reason, error }: StatusStep, texts: ShownTexts): TimelineItem {
  const failure = error && `${error.name}: ${error.message}${error.stack === undefined ? "" : `\n\n${error.stack}`}`;
  const text = texts.text(failure ?? reason ?? "");
  const title = statusTitles[status];
  return status === "failed"
    ? { ...base, kind: "note", title, text, failed: true }
    : { ...base, kind: "note", title, text };
}

function rollbackItem(
  base: Base,
  { rollback }: RollbackStep,
  texts: ShownTexts,
  records: readonly string[],
): TimelineItem {
  const { targetId, fromId, commonAncestorId, state, calls, staying } = rollback;
  return withoutUndefined({
    ...base,
    kind: "rollback" as const,
    target: targetId === undefined ? undefined : keyOfCheckpoint(targetId),
    from: fromId === undefined ? undefined : keyOfCheckpoint(fromId),
    redo: commonAncestorId === undefined ? undefined : (true as const),
    finished: state === "done",
    calls: [
      ...calls.map(({ toolCallId, tool, state: result, error }): RevertedCall =>
        withoutUndefined({
          id: toolCallId,
          tool,
          result: result === "left" ? ("skipped" as const) : result === "in_doubt" ? ("pending" as const) : result,
          reason: error === undefined ? undefined : texts.text(error),
        }),
      ),
      ...staying.map(({ toolCallId, tool }): RevertedCall => ({ id: toolCallId, tool, result: "irreversible" })),
    ],
    records,
  });
}

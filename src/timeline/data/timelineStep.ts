import type { CheckpointView } from "../../inspect/view/CheckpointView.ts";
import type { LaneView, LineView, NotedFileChange } from "../../inspect/view/viewParts.ts";
import type { BeginStep, ChangesView, MoveStep, VisitStep } from "../../inspect/view/StepView.ts";
import { addToGroup } from "../../internal/addToGroup.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { ShownTexts } from "./ShownTexts.ts";
import type { CallView } from "../../inspect/view/CallView.ts";
import { costOf, tokensOf, type TokenPrices } from "../options/TimelineOptions.ts";
import type {
  TimelineCall,
  TimelineChanges,
  TimelineFile,
  TimelineStep,
  TimelineCallState,
  TimelineWait,
} from "./TimelineData.ts";
import { standingUndo } from "../../inspect/show/callView.ts";
import type { RequestView } from "../../inspect/view/RequestView.ts";

export interface StepContents {
  readonly texts: ShownTexts;
  readonly took?: number | undefined;
  readonly prices?: TokenPrices | undefined;
  readonly files: readonly TimelineFile[];
  readonly records: readonly string[];
  readonly keeps?: LaneView["keeps"] | undefined;
}

export function keyOfCheckpoint(checkpointId: string): string {
  return `checkpoint ${checkpointId}`;
}

export function visitStep(visit: VisitStep, contents: StepContents): TimelineStep {
  const { checkpoint, node, state, answers, calls, requests, output } = visit;
  const { texts, files, took, prices } = contents;
  const from = checkpoint === undefined ? visit.fromId : checkpoint.parentId;
  const said = answers.map(({ message, model, finish, usage, failures }) =>
    withoutUndefined({
      text: texts.answer(message),
      model,
      finish,
      tokens: usage?.totalTokens,
      failed: failures.map((failure) => texts.text(failure.message)),
    }),
  );
  const shownCalls = calls.map((call) => timelineCall(call, visit.files, texts));
  return withoutUndefined({
    ...baseOf(visit, contents),
    ...(checkpoint?.isLeft && {
      left: shownCalls.some(({ stands }) => stands) ? ("kept" as const) : ("reverted" as const),
    }),
    tokens: tokensOf(answers),
    cost: prices && answers.length > 0 ? costOf(answers, prices) : undefined,
    took,
    key: checkpoint === undefined ? `visit ${visit.order}` : keyOfCheckpoint(checkpoint.checkpointId),
    parent: from === undefined ? undefined : keyOfCheckpoint(from),
    run: visit.runId,
    node,
    open: checkpoint === undefined && state !== "ended" ? state : undefined,
    answers: said,
    calls: groupsOf(calls, shownCalls),
    waits: requests.map((request) => timelineWait(request, texts)),
    changes: { ...changesOf(visit.changes, texts), ...(output && { input: texts.of(output, ["input"]) }), files },
  });
}

/** Returns the step at the start of a run, branch or sub-agent, or after a move. */
export function pointStep(step: BeginStep | MoveStep, contents: StepContents): TimelineStep {
  const { checkpoint, changes } = step;
  const { parentId, checkpointId } = checkpoint;
  const { texts, files } = contents;
  const begins = step.kind === "begin";
  return withoutUndefined({
    ...baseOf(step, contents),
    key: keyOfCheckpoint(checkpointId),
    parent: parentId === undefined ? undefined : keyOfCheckpoint(parentId),
    run: checkpoint.runId,
    begins: begins ? (true as const) : undefined,
    move: begins ? undefined : step.move,
    answers: [],
    calls: [],
    waits: [],
    changes: { ...changesOf(changes, texts), ...(begins && { input: texts.of(step.output, ["input"]) }), files },
  });
}

type BaseView = Pick<VisitStep, "lane" | "line" | "at"> & { readonly checkpoint?: CheckpointView };

function baseOf({ lane, line, at, checkpoint }: BaseView, { texts, records, keeps }: StepContents) {
  return withoutUndefined({
    kind: "step" as const,
    lane: String(lane),
    keeps: keeps === "all" ? undefined : keeps,
    branch: lineName(line),
    at: timeOf(checkpoint?.at ?? at),
    records,
    ...(checkpoint && factsOf(checkpoint, texts)),
  });
}

function factsOf(checkpoint: CheckpointView, texts: ShownTexts) {
  const { checkpointId, name, version, node, status, by, reason, summary, usage, iteration, isLeft } = checkpoint;
  const joins = checkpoint.otherParentIds?.map(keyOfCheckpoint);
  return {
    checkpoint: checkpointId,
    name,
    version,
    next: node,
    ended: status === "in_progress" ? undefined : status,
    by: by === undefined ? undefined : texts.text(by),
    reason: reason === undefined ? undefined : texts.text(reason),
    summary: summary === undefined ? undefined : texts.text(summary),
    runTokens: usage?.totalTokens,
    iteration,
    left: isLeft ? ("reverted" as const) : undefined,
    joins,
  };
}

function lineName({ branch, agentPath }: LineView): string | undefined {
  const names = [...agentPath, ...(branch === undefined ? [] : [branch])];
  return names.length === 0 ? undefined : names.join(" / ");
}

function groupsOf(views: readonly CallView[], calls: readonly TimelineCall[]): readonly (readonly TimelineCall[])[] {
  const groups = new Map<number, TimelineCall[]>();
  for (const [at, call] of calls.entries()) addToGroup(groups, views[at]?.group ?? 0, call);
  return [...groups.values()];
}

function changesOf({ messages, storage, settings }: ChangesView, texts: ShownTexts): Omit<TimelineChanges, "files"> {
  const set = Object.entries(storage.set).map(([key, value]) => [key, texts.of(value, ["storage", key])] as const);
  const deleted = storage.deleted.map((key) => [key, null] as const);
  const { model, parameters, tools } = settings ?? {};
  const shown = parameters === undefined ? { model, tools } : { model, parameters: plainOf(parameters), tools };
  return {
    messages: messages.added.map((message) => texts.message(message)),
    removed: messages.removed,
    storage: Object.fromEntries([...set, ...deleted]),
    ...(settings && { settings: texts.plain(shown, ["settings"]) }),
  };
}

function plainOf(shown: NonNullable<NonNullable<ChangesView["settings"]>["parameters"]>): unknown {
  return "unreadable" in shown ? shown.unreadable.message : shown.value;
}

function timelineCall(call: CallView, files: readonly NotedFileChange[], texts: ShownTexts): TimelineCall {
  const { toolCallId, tool, effect, input, output, error } = call;
  const result = error === undefined ? output && texts.of(output, [tool, "output"]) : texts.text(error);
  const note = noteOf(call, texts);
  return withoutUndefined({
    id: toolCallId,
    tool,
    state: stateOf(call),
    effect,
    input: texts.of(input, [tool, "input"]),
    output: result,
    note: note === "" ? undefined : note,
    stands: stands(call, files) ? (true as const) : undefined,
  });
}

/** Returns whether the effect of a call remains. If a workspace reverts its files, their notes show this. */
function stands({ toolCallId, undo }: CallView, files: readonly NotedFileChange[]): boolean {
  if (undo !== "with_files") return standingUndo.has(undo);
  return files.some((file) => file.toolCallId === toolCallId && !file.isReverted);
}

function stateOf({ state, undo }: CallView): TimelineCallState {
  if (undo === "reverted") return "reverted";
  switch (state) {
    case "interrupted":
    case "to_repeat":
      return "cut";
    case "unknown":
      return "in_doubt";
    case "succeeded":
    case "lost":
      return undo === "irreversible" || undo === "left" ? "irreversible" : "succeeded";
    case "moved":
      return "succeeded";
    default:
      return state;
  }
}

const notes: Readonly<Partial<Record<CallView["state"] | CallView["undo"], string>>> = {
  interrupted: "started without an outcome",
  to_repeat: "will be repeated",
  unknown: "settled as unknown",
  lost: "its output could not be stored",
  moved: "moved the run",
  reverting: "its inverse started",
  left: "its effect was kept",
  with_files: "a rollback reverts it with its files",
};

function noteOf({ state, undo, undoError, settledBy, within }: CallView, texts: ShownTexts): string {
  const failure = undo === "failed" ? "its inverse failed" : notes[undo];
  const settled = settledBy === undefined ? undefined : `settled by ${settledBy}`;
  const inside = within === undefined ? undefined : `within ${within}`;
  const why = undoError === undefined ? undefined : texts.text(undoError);
  return [notes[state], failure, why, settled, inside].filter((part) => part !== undefined).join(", ");
}

function timelineWait(request: RequestView, texts: ShownTexts): TimelineWait {
  const { requestId, state, prompt, call, answer, rejection, by } = request;
  const reply = rejection === undefined ? answer && texts.of(answer, ["answer"]) : texts.text(rejection);
  const input = call === undefined ? "" : `\n${texts.of(call.input, [call.tool, "input"])}`;
  return withoutUndefined({
    id: requestId,
    asked: texts.of(prompt, ["prompt"]) + input,
    what: whatOf(request),
    state,
    askedAt: timeOf(request.askedAt),
    answeredAt: timeOf(request.answeredAt),
    answer: reply,
    by: by === undefined ? undefined : texts.text(by),
  });
}

function whatOf({ kind, call }: RequestView): string {
  if (kind === "timer") return "Timer:";
  if (kind === "event") return "Event:";
  return kind === "approval" ? `Approve ${call?.tool ?? "a call"}?` : "Asks:";
}

/** Returns a time in milliseconds since 1970, or `undefined` for invalid text. */
export function timeOf(text: string | undefined): number | undefined {
  const time = Date.parse(text ?? "");
  return Number.isNaN(time) ? undefined : time;
}

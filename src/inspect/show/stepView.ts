import type { OrderedRecord, LogProjection } from "../../checkpoint/state/LogProjection.ts";
import { type CheckpointPoint, originOf } from "../../checkpoint/records/lineRecords.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { EventRecord, Ownership, PlacedRecord, AgentIndex, LogEvent } from "../log/AgentIndex.ts";
import type { AnswerView, StepView, VisitStep, StepsPage } from "../view/StepView.ts";
import type { LineView, LaneView } from "../view/viewParts.ts";
import type { RequestView } from "../view/RequestView.ts";
import { callsBegunIn, callViews } from "./callView.ts";
import { changesView, fileNotesIn, fileChangeViews } from "./changesView.ts";
import { checkpointShower, isoTime, lineShower, type ShowCheckpoint, usageView } from "./checkpointView.ts";
import { headBefore, type ModelAt, modelFinder, recordsBetween } from "../log/laneRecords.ts";
import { openRequestIds, requestView } from "./requestView.ts";
import { rollbackView } from "./rollbackView.ts";
import { runView } from "./agentView.ts";
import { type Shown, type Source, withValues } from "./Source.ts";
import { type PageOptions, pageOf } from "../log/pageOf.ts";
import type { AgentRecord } from "../../checkpoint/records/AgentRecord.ts";
import type { OwnerView } from "../view/AgentView.ts";

interface StepContext extends Shown {
  readonly checkpoint: ShowCheckpoint;
  readonly lineOf: (lane: number) => LineView;
  readonly openRequests: ReadonlySet<string>;
  readonly modelAt: ModelAt;
}

type BaseStep = Pick<StepView, "order" | "position" | "generation" | "at">;

export function stepViews(shown: Shown, events: readonly StepEvent[]): readonly StepView[] {
  const { log } = shown.index;
  const context = {
    ...shown,
    checkpoint: checkpointShower(log),
    lineOf: lineShower(log),
    openRequests: openRequestIds(log),
    modelAt: modelFinder(log),
  };
  return events.map((event) => stepView(context, event));
}

function stepView(context: StepContext, event: StepEvent): StepView {
  if ("unended" in event) return unendedVisit(context, event);
  if ("owner" in event) return ownerStep(event.owner, event.before);
  const placed: EventRecord = event;
  const { record } = placed;
  switch (record.kind) {
    case "checkpoint":
      return checkpointStep(context, placed as PlacedRecord<"checkpoint">);
    case "rollback":
      return {
        kind: "rollback",
        ...baseOf(placed),
        rollback: rollbackView(context, placed as PlacedRecord<"rollback">),
      };
    case "run":
      return { kind: "run", ...baseOf(placed), run: runView(context, placed as PlacedRecord<"run">) };
    case "status":
      return statusStep(placed as PlacedRecord<"status">);
    default:
      return logStep(placed as PlacedRecord<"origin" | "custody" | "pruned">);
  }
}

function baseOf({ record, order, position, generation }: EventRecord): BaseStep {
  return { order, position, generation, ...("at" in record && { at: isoTime(record.at) }) };
}

function ownerStep({ order, position, generation, at, tookOver }: Ownership, before: number): StepView {
  const time = at === undefined ? {} : { at: isoTime(at) };
  return { kind: "owner", order, position, generation, ...time, before, tookOver };
}

function statusStep(placed: PlacedRecord<"status">): StepView {
  const { run: runId, status, reason, error } = placed.record;
  return withoutUndefined({ kind: "status" as const, ...baseOf(placed), runId, status, reason, error }) as StepView;
}

function logStep(placed: PlacedRecord<"origin" | "custody" | "pruned">): StepView {
  const { record } = placed;
  const base = { kind: "log", ...baseOf(placed) } as const;
  if (record.kind === "origin") return { ...base, what: "forked", agentId: record.agentId };
  if (record.kind === "pruned") return { ...base, what: "pruned" };
  return { ...base, what: record.state, ...(record.to && { agentId: record.to.agentId }) };
}

function checkpointStep(context: StepContext, placed: PlacedRecord<"checkpoint">): StepView {
  const { log } = context.index;
  const { record, order } = placed;
  const point = log.checkpoints.get(record.version);
  // A pruning removes either all records of a checkpoint or none.
  if (!point) throw new RangeError(`checkpoint ${record.version} is not in the log`);
  const { lane } = record;
  const parent = log.checkpoints.get(point.parent ?? -1);
  const from = parent?.record.lane === lane ? parent : undefined;
  const records = recordsBetween(log, lane, from?.order ?? -1, order);
  const base = { ...baseOf(placed), lane, line: context.lineOf(lane), checkpoint: context.checkpoint(point) };
  const changes = changesView(context, records);
  if (record.move !== undefined) {
    const left = headBefore(context.index, order, lane);
    return withoutUndefined({
      kind: "move" as const,
      ...base,
      move: record.move,
      leftId: left?.id,
      changes,
      standing: record.standing ?? [],
    }) as StepView;
  }
  const output = context.show(record.input);
  const isBegin = !from && !records.some((each) => workKinds.has(each.record.kind));
  if (isBegin) return { kind: "begin", ...base, runId: point.runId, output, changes };
  return { ...base, ...visitOf(context, records, from), runId: point.runId, state: "ended", output };
}

function visitOf(context: StepContext, records: readonly OrderedRecord[], from: CheckpointPoint | undefined) {
  const { index, lineOf } = context;
  const nodes = records.flatMap(({ record }) =>
    "node" in record && record.kind !== "checkpoint" ? [record.node] : [],
  );
  return withoutUndefined({
    kind: "visit" as const,
    node: from?.record.node ?? nodes[0] ?? "",
    startedAt: from && isoTime(from.record.at),
    fromId: from?.id,
    answers: records.flatMap((placed) => answerView(context, placed)),
    calls: callViews(context, callsBegunIn(index, records), lineOf),
    requests: requestsOf(context, records),
    files: fileChangeViews(context, fileNotesIn(records)),
    changes: changesView(context, records),
  });
}

/** Returns the requests whose first record is one of the records. */
function requestsOf(context: StepContext, records: readonly OrderedRecord[]): readonly RequestView[] {
  return records.flatMap(({ record, order }) => {
    const request = record.kind === "request" ? context.index.requests.get(record.request) : undefined;
    if (!request || request.order !== order) return [];
    const isOpen = context.openRequests.has(request.record.request);
    return [requestView(context, request, { line: context.lineOf(request.record.lane), isOpen })];
  });
}

function answerView({ show, modelAt }: StepContext, { record, position, order }: OrderedRecord): readonly AnswerView[] {
  if (record.kind !== "answer") return [];
  const { message, finish, usage, within, lane, failed = [] } = record;
  const answer = {
    position,
    message: show(message),
    model: modelAt(lane, order),
    finish,
    usage: usageView(usage),
    within,
    failures: failed.map(({ error: { name, message: text, code } }) => withoutUndefined({ name, message: text, code })),
  };
  return [withoutUndefined(answer) as AnswerView];
}

function unendedVisit(context: StepContext, { unended: lane, order }: UnendedVisit): StepView {
  const { log } = context.index;
  const from = log.latestOf(lane);
  const records = recordsBetween(log, lane, from?.order ?? -1, Infinity);
  const last = records.at(-1);
  const visit = visitOf(context, records, from);
  return {
    ...visit,
    order,
    position: last?.position ?? from?.position ?? 0,
    generation: context.index.owners.findLast(({ position }) => position <= (last?.position ?? 0))?.generation ?? 0,
    runId: log.lanes.get(lane)?.runId ?? "",
    lane,
    line: context.lineOf(lane),
    state: unendedState(context, lane, visit),
  };
}

function unendedState(
  { index: { log }, owner }: StepContext,
  lane: number,
  { requests, calls }: Pick<VisitStep, "requests" | "calls">,
): VisitStep["state"] {
  if (!log.lines.isOpen(lane)) return "cut";
  if (requests.some(({ state }) => state === "open")) return "waiting";
  const isRunning = owner?.state === "alive" && log.statusState.current?.status === "in_progress";
  return isRunning || calls.some(({ state }) => state === "running") ? "running" : "cut";
}

export async function steps(source: Source, options: PageOptions): Promise<StepsPage> {
  const { log, end, damage } = source.index;
  const { items, ...cursors } = pageOf(stepEvents(source.index, source.owner), ({ order }) => order, options);
  const shown = await withValues(source, (from) => stepViews(from, items));
  const lanes = shown.flatMap((step) => ("lane" in step ? [step.lane] : []));
  return { steps: shown, lanes: laneViews(log, lanes), ...cursors, position: end.position, damage };
}

/** Returns the given lanes, the lanes from which they start, and the lanes that contain them. */
function laneViews(log: LogProjection, lanes: Iterable<number>): readonly LaneView[] {
  const lineOf = lineShower(log);
  const all = new Set(lanes);
  for (const lane of all) for (const before of lanesBefore(log, lane)) all.add(before);
  return [...all].toSorted((a, b) => a - b).map((lane) => laneView(log, lane, lineOf));
}

function lanesBefore(log: LogProjection, lane: number): readonly number[] {
  const parent = log.lines.nestedLine(lane)?.place.parent;
  const start = log.lanes.get(lane)?.record;
  const origin = start && log.checkpoints.get(originOf(start) ?? -1)?.record.lane;
  return [parent, origin].filter((each) => each !== undefined);
}

function laneView(log: LogProjection, lane: number, lineOf: ReturnType<typeof lineShower>): LaneView {
  const start = log.lanes.get(lane)?.record;
  const place = log.lines.nestedLine(lane)?.place;
  return withoutUndefined({
    lane,
    line: lineOf(lane),
    parentLane: place?.parent,
    toolCallId: place && "call" in place ? place.call : undefined,
    fromId: start && log.checkpoints.get(originOf(start) ?? -1)?.id,
    lastId: log.latestOf(lane)?.id,
    keeps: start?.keep ?? "all",
    state: stateOf(log, lane),
  });
}

function stateOf(log: LogProjection, lane: number): LaneView["state"] {
  if (log.lines.isOpen(lane)) return "open";
  return log.latestOf(lane)?.record.ended ? "ended" : "left";
}

/** A node execution without a final checkpoint, given by its lane. */
interface UnendedVisit {
  readonly unended: number;
  readonly order: number;
}

export type StepEvent = LogEvent | UnendedVisit;

/** The kinds of records that prove that a node ran, even without a checkpoint. */
const workKinds: ReadonlySet<AgentRecord["kind"]> = new Set(["intent", "outcome", "answer", "request", "note"]);

/** Returns all steps of a log, oldest first. Unfinished steps are last. */
export function stepEvents(index: AgentIndex, owner: OwnerView | undefined): readonly StepEvent[] {
  const unended = [...index.log.laneRecords.keys()].flatMap((lane) => unendedOn(index, lane, owner) ?? []);
  if (unended.length === 0) return index.events;
  return [...index.events, ...unended].sort((a, b) => a.order - b.order);
}

function unendedOn(index: AgentIndex, lane: number, owner: OwnerView | undefined): UnendedVisit | undefined {
  const { log } = index;
  const records = log.laneRecords.get(lane) ?? [];
  const last = records.findLast(({ record }) => record.kind === "checkpoint" || workKinds.has(record.kind));
  const isWork = last !== undefined && last.record.kind !== "checkpoint";
  const isOpen = log.lines.isOpen(lane);
  if (!isWork && !(isOpen && isRunning(log, lane, owner))) return undefined;
  return { unended: lane, order: isOpen ? index.nextOrder + lane : (last?.order ?? 0) + 0.25 };
}

function isRunning(log: LogProjection, lane: number, owner: OwnerView | undefined): boolean {
  const latest = log.latestOf(lane)?.record;
  if (!latest || latest.ended || latest.status || owner?.state !== "alive") return false;
  const hasOpenLine = log.lines.childrenOf(lane).some((line) => log.lines.isOpen(line.lane));
  return log.statusState.current?.status === "in_progress" && !hasOpenLine;
}

import type { AgentInspector } from "../../inspect/AgentInspector.ts";
import type { AgentView } from "../../inspect/view/AgentView.ts";
import { WorkTime } from "../../inspect/show/WorkTime.ts";
import type {
  StepsPage,
  StepView,
  LogStep,
  OwnerStep,
  RollbackStep,
  RunStep,
  StatusStep,
} from "../../inspect/view/StepView.ts";
import { InvalidInputError } from "../../errors/agentErrors.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import { redactionOf, type RunCost, type TimelineOptions } from "../options/TimelineOptions.ts";
import type { Redaction } from "../options/Redaction.ts";
import { fileTexts, RecordTexts, ShownTexts } from "./ShownTexts.ts";
import type { TimelineAgent, TimelineDamage, TimelineItem, TimelineStep, RevertedCall } from "./TimelineData.ts";
import { keyOfCheckpoint, pointStep, visitStep, timeOf } from "./timelineStep.ts";
import type { EntryView, LaneView } from "../../inspect/view/viewParts.ts";

const pageOfSteps = 250;
/** The approximate maximum number of pages to read, because a storage may read the whole log for each. */
const mostReads = 20;

/** Reads the data of a page in one pass. */
export class TimelineReader {
  readonly #inspector: AgentInspector;
  readonly #agentId: string;
  readonly #options: TimelineOptions;
  readonly #redaction: Redaction;
  readonly #texts: ShownTexts;
  readonly #spent = new Spent();
  readonly #keeps = new Map<number, LaneView["keeps"]>();
  #shown = 0;

  constructor(inspector: AgentInspector, agentId: string, options: TimelineOptions) {
    this.#inspector = inspector;
    this.#agentId = agentId;
    this.#options = options;
    this.#redaction = redactionOf(options);
    this.#texts = new ShownTexts(this.#redaction);
  }

  /** @throws InvalidInputError if the agent does not exist */
  async view(): Promise<AgentView> {
    const view = await this.#inspector.agent(this.#agentId);
    if (view !== undefined) return view;
    throw new InvalidInputError("agentId", [{ path: "", expected: `the storage has no agent "${this.#agentId}"` }]);
  }

  async *items(): AsyncGenerator<TimelineItem, void> {
    const view = await this.view();
    if (view.shape === "agent") yield* this.#steps();
    else yield* this.#appends(view);
  }

  /** Yields the appends of a log that belongs to no agent. */
  async *#appends({ position, damage }: AgentView): AsyncGenerator<TimelineItem, void> {
    const appends = position > 0 ? this.#inspector.records(this.#agentId, { upTo: position }) : [];
    for await (const entry of appends) yield timelineAppend(entry, this.#texts, this.#redaction.hasPaths);
    yield* damage.map(damageItem);
  }

  async *#steps(): AsyncGenerator<TimelineItem, void> {
    let records: RecordTexts | undefined;
    // The last step of each page waits, because the next step may show the same information.
    let waiting: readonly StepView[] = [];
    try {
      for await (const page of this.#pages()) {
        records ??= this.#recordsFrom(page);
        for (const { lane, keeps } of page.lanes) this.#keeps.set(lane, keeps);
        const steps = [...waiting, ...page.steps];
        waiting = page.after === undefined ? [] : steps.splice(-1);
        yield* this.#itemsOf(steps, waiting[0], records);
        if (page.after === undefined) yield* page.damage.map(damageItem);
      }
    } finally {
      await records?.close();
    }
  }

  async *#itemsOf(
    steps: readonly StepView[],
    next: StepView | undefined,
    records: RecordTexts,
  ): AsyncGenerator<TimelineItem, void> {
    for (const [index, step] of steps.entries()) {
      this.#spent.time.see(step);
      if (isToldElsewhere(step, steps[index + 1] ?? next)) continue;
      if ("checkpoint" in step) this.#shown += 1;
      const item = await this.#itemOf(step, await records.upTo(step.position));
      if (item.kind === "step") this.#spent.add(item);
      yield item;
    }
  }

  /** Returns the data at the top of the page. Call it after all items, because it counts the hidden values. */
  async agent(): Promise<TimelineAgent> {
    const { agentId, shape, status, reason, head, model, counts } = await this.view();
    const said = reason === undefined ? undefined : this.#texts.text(reason);
    const { hidden } = this.#redaction;
    this.#options.onHidden?.(hidden);
    return withoutUndefined({
      id: agentId,
      status: shape === "agent" ? status : "",
      shape: shape === "agent" ? undefined : shape,
      reason: said,
      head: head && keyOfCheckpoint(head.checkpointId),
      model,
      ...this.#spent.total(),
      checkpoints: counts.checkpoints,
      left: this.#options.last === undefined ? 0 : Math.max(0, counts.checkpoints - this.#shown),
      hidden,
      at: Date.now(),
    });
  }

  async *#pages(): AsyncGenerator<StepsPage, void> {
    if (this.#options.last !== undefined) {
      yield await this.#inspector.steps(this.#agentId, { limit: this.#options.last });
      return;
    }
    const { counts } = await this.view();
    const limit = Math.max(pageOfSteps, Math.ceil(counts.checkpoints / mostReads));
    for (let after: number | undefined = -1; after !== undefined;) {
      const page: StepsPage = await this.#inspector.steps(this.#agentId, { after, limit });
      after = page.after;
      yield page;
    }
  }

  #recordsFrom({ steps }: StepsPage): RecordTexts {
    const after = this.#options.last === undefined ? 0 : (steps[0]?.position ?? 1) - 1;
    const entries = this.#redaction.hasPaths ? undefined : this.#inspector.records(this.#agentId, { after });
    return new RecordTexts(entries, this.#texts);
  }

  async #itemOf(step: StepView, records: readonly string[]): Promise<TimelineItem> {
    const texts = this.#texts;
    const keeps = "lane" in step ? this.#keeps.get(step.lane) : undefined;
    if (step.kind === "visit") {
      const files = await fileTexts(step.files, { inspector: this.#inspector, agentId: this.#agentId, texts });
      const took = this.#spent.time.tookOf(step);
      return visitStep(step, { texts, files, records, keeps, took, prices: this.#options.prices });
    }
    if (step.kind === "begin" || step.kind === "move") return pointStep(step, { texts, files: [], records, keeps });
    return timelineMark(step, texts, records);
  }
}

/** Returns whether another row shows the step, for example because the start of a run also shows the run. */
function isToldElsewhere(step: StepView, next: StepView | undefined): boolean {
  if (step.kind === "status") return step.status === "in_progress" || step.status === "queued";
  return step.kind === "run" && next?.kind === "begin" && next.runId === step.run.runId;
}

function damageItem({ message }: StepsPage["damage"][number], index: number): TimelineDamage {
  return { kind: "damage", key: `damage ${index}`, text: message };
}

class Spent {
  readonly time = new WorkTime();
  #tokens: number | undefined;
  #cost: RunCost | undefined;

  add({ tokens, cost }: TimelineStep): void {
    if (tokens !== undefined) this.#tokens = (this.#tokens ?? 0) + tokens;
    if (cost === undefined) return;
    const { amount, unpriced } = this.#cost ?? { amount: 0, unpriced: 0 };
    this.#cost = { ...cost, amount: amount + cost.amount, unpriced: unpriced + cost.unpriced };
  }

  total(): Pick<TimelineAgent, "tokens" | "cost" | "worked"> {
    return withoutUndefined({ tokens: this.#tokens, cost: this.#cost, worked: this.time.total() });
  }
}

type MarkView = RollbackStep | RunStep | StatusStep | OwnerStep | LogStep;

function timelineMark(step: MarkView, texts: ShownTexts, records: readonly string[]): TimelineItem {
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

function timelineAppend({ position, records }: EntryView, texts: ShownTexts, hidesRecords: boolean): TimelineItem {
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

/** Returns the time in a record of a log that belongs to no agent. `undefined` if none. */
function timeOfRecord({ at, ts }: EntryView["records"][number]): number | undefined {
  return typeof at === "number" ? at : timeOf(typeof ts === "string" ? ts : undefined);
}

type Base = Pick<TimelineItem, "key" | "at">;

const statusTitles = {
  queued: "Queued",
  in_progress: "Continued",
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
  return { ...base, kind: "note", title: statusTitles[status], text, ...(status === "failed" && { failed: true }) };
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

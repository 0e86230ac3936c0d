import { HistoryFold } from "../messages/LinkedHistory.ts";
import type { AgentRecord } from "../records/AgentRecord.ts";
import { answerKey, isSameVisit } from "../records/Visit.ts";
import type { AnswerRecord, IntentRecord, OutcomeRecord } from "../records/callRecords.ts";
import type { LaneRecord, Renames } from "../records/lineRecords.ts";
import {
  emptyState,
  type AgentState,
  type RecordedCall,
  type RecordedAnswer,
  type RecordedRequest,
} from "./AgentState.ts";
import { renamed, renamedPath } from "../values/renamed.ts";

type Mutable<Value> =
  Value extends ReadonlyMap<infer Key, infer Item>
    ? Map<Key, Item>
    : Value extends readonly (infer Item)[]
      ? Item[]
      : Value;
type Folded = { -readonly [Key in Exclude<keyof AgentState, "history">]: Mutable<AgentState[Key]> };

/** Builds the state of an agent by adding its records one after another. */
export class StateFold {
  #history = new HistoryFold();
  #rest = copyOf(emptyState);

  /** The current state. The object does not change when records are added later. */
  get state(): AgentState {
    return { ...this.#rest, history: this.#history.entries() };
  }

  restore(state: AgentState): void {
    this.#history = new HistoryFold(state.history);
    this.#rest = copyOf(state);
  }

  beginLane(keep: LaneRecord["keep"]): void {
    if (keep === "all") return;
    const { answers, calls, storage, settings, requirements, structure, decisions } = this.#rest;
    this.#rest = {
      ...copyOf(emptyState),
      ...(keep !== "nothing" && { answers, calls }),
      ...(keep === "state" && { storage, settings, requirements, structure, decisions }),
    };
    if (keep !== "history") this.#history = new HistoryFold();
  }

  add(record: AgentRecord, order: number): void {
    if (record.kind === "message") this.#history.push({ number: record.number, message: record.message });
    else if (record.kind === "edit") this.#history.edit(record);
    else applierOf.get(record.kind)?.(this.#rest, record, order);
  }
}

function copyOf({ history: _history, ...state }: AgentState): Folded {
  return {
    ...state,
    storage: new Map(state.storage),
    decisions: [...state.decisions],
    answers: new Map(state.answers),
    requests: new Map(state.requests),
    calls: new Map(state.calls),
    notes: [...state.notes],
  };
}

type Apply<Kind> = (state: Folded, record: Extract<AgentRecord, { kind: Kind }>, order: number) => void;

const appliers: { readonly [Kind in AgentRecord["kind"]]?: Apply<Kind> } = {
  storage: ({ storage }, record) =>
    void ("value" in record ? storage.set(record.key, record.value) : storage.delete(record.key)),
  settings: (state, settings) => void (state.settings = settings),
  requirements: (state, requirements) => void (state.requirements = requirements),
  structure(state, structure) {
    state.structure = structure;
    if (structure.renames) Object.assign(state, renamedState(state, structure.renames));
  },
  decision: ({ decisions }, decision) => void decisions.push(decision),
  note: ({ notes }, note) => void notes.push(note),
  answer: addAnswer,
  request: ({ requests }, record) => void requests.set(record.request, { record }),
  reply({ requests }, reply, order) {
    const known = requests.get(reply.request);
    if (known) requests.set(reply.request, { ...known, reply, repliedAt: order });
  },
  intent: addCall,
  outcome: addCall,
};

const applierOf = new Map(Object.entries(appliers)) as ReadonlyMap<string, Apply<AgentRecord["kind"]>>;

/** A second response to a request means that the replay was discarded. Calls of the first response are removed. */
function addAnswer({ answers, calls }: Folded, record: AnswerRecord, order: number): void {
  const key = answerKey(record.visit, record.ordinal, record.within);
  if (answers.has(key))
    for (const { call, visit } of calls.values()) if (isSameVisit(visit, record.visit)) calls.delete(call);
  answers.set(key, { ...record, order });
}

function addCall({ calls }: Folded, record: IntentRecord | OutcomeRecord, order: number): void {
  calls.set(record.call, withRecord(calls.get(record.call), record, order));
}

export function withRecord(
  known: RecordedCall | undefined,
  record: IntentRecord | OutcomeRecord,
  order: number,
): RecordedCall {
  const { call, visit } = record;
  if (record.kind === "outcome") return { ...known, call, visit, order, outcome: record };
  const { outcome: _before, ...begun } = known ?? {};
  return { ...begun, call, visit, order, intent: record };
}

type Recorded = Pick<AgentState, "answers" | "calls" | "requests">;

function renamedState({ answers, calls, requests }: Recorded, renames: readonly Renames[]) {
  const names = { nodes: renames.map(({ nodes }) => nodes), tools: renames.map(({ tools }) => tools) };
  return {
    answers: mapped(answers, (answer) => renamedAnswer(answer, names)),
    calls: mapped(calls, (call) => renamedCall(call, names)),
    requests: mapped(requests, (request) => renamedRequest(request, names)),
  };
}

type Names = { readonly [Kind in keyof Renames]: readonly Renames[Kind][] };

function mapped<Item>(items: ReadonlyMap<string, Item>, change: (item: Item) => Item): Map<string, Item> {
  return new Map([...items].map(([key, item]) => [key, change(item)]));
}

function renamedAnswer(answer: RecordedAnswer, { nodes, tools }: Names): RecordedAnswer {
  return { ...answer, node: renamedPath(answer.node, nodes), renames: [...(answer.renames ?? []), ...tools] };
}

function renamedCall(call: RecordedCall, { nodes, tools }: Names): RecordedCall {
  const { intent, outcome } = call;
  // An outcome contains these fields only if the call has no intent record.
  const { node, tool } = outcome ?? {};
  return {
    ...call,
    ...(intent && { intent: { ...intent, node: renamedPath(intent.node, nodes), tool: renamed(intent.tool, tools) } }),
    ...(outcome && {
      outcome: {
        ...outcome,
        ...(node !== undefined && { node: renamedPath(node, nodes) }),
        ...(tool !== undefined && { tool: renamed(tool, tools) }),
        ...(outcome.changes !== undefined && { renames: [...(outcome.renames ?? []), ...tools] }),
      },
    }),
  };
}

function renamedRequest(request: RecordedRequest, { nodes, tools }: Names): RecordedRequest {
  const { record } = request;
  const { approval } = record;
  const tool = approval && renamed(approval.tool, tools);
  return {
    ...request,
    record: {
      ...record,
      node: renamedPath(record.node, nodes),
      ...(approval && tool !== undefined && { approval: { ...approval, tool } }),
    },
    ...(approval && tool !== approval.tool && { renamed: true as const }),
  };
}

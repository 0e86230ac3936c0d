import { emptyState, type AgentState } from "../state/AgentState.ts";
import type { AgentRecord } from "../records/AgentRecord.ts";
import type { EditRecord } from "../records/lineRecords.ts";
import type { StoredMessage } from "../messages/storedHistory.ts";

/** What of a state its lane's records make; calls and answers are records of their own. */
export type LaneState = Pick<AgentState, "history" | "storage" | "settings" | "requirements" | "decisions">;

/** The state that a lane begins with, of that at the checkpoint it begins from. */
export function stateAtStart(from: AgentState | undefined, keep: "all" | "history" | "nothing"): LaneState {
  if (!from || keep === "nothing") return emptyState;
  return keep === "all" ? from : { ...emptyState, history: from.history };
}

/** The fewest records that lead from one state of a lane to a later one. @param trim the change is nothing but a trim. */
export function stateDelta(before: LaneState, after: LaneState, lane: number, trim: boolean): AgentRecord[] {
  const { settings, requirements } = after;
  const known = new Set(before.decisions);
  return [
    ...historyDelta(before.history, after.history, lane, trim),
    ...storageDelta(before.storage, after.storage, lane),
    ...(settings && settings !== before.settings ? [{ ...settings, lane }] : []),
    ...(requirements && requirements !== before.requirements ? [{ ...requirements, lane }] : []),
    ...after.decisions.filter((decision) => !known.has(decision)),
  ];
}

/** What stays never changes its place, since a message that is moved gets another number. */
function historyDelta(
  before: readonly StoredMessage[],
  after: readonly StoredMessage[],
  lane: number,
  trim: boolean,
): AgentRecord[] {
  const had = new Set(before.map(({ number }) => number));
  const has = new Set(after.map(({ number }) => number));
  const removed = before.filter(({ number }) => !has.has(number));
  const edits: EditRecord[] = [];
  const edit = (remove: EditRecord["remove"], insert: readonly StoredMessage[], next: StoredMessage | undefined) =>
    edits.push({
      kind: "edit",
      lane,
      remove,
      insert,
      ...(next && { before: next.number }),
      ...(trim && { trim: true }),
    });
  if (removed.length > 0) edit(rangesOf(removed), [], undefined);
  let end = after.length;
  while (end > 0 && !had.has(after[end - 1]?.number ?? 0)) end--;
  for (let at = 0; at < end;) {
    let to = at;
    while (to < end && !had.has(after[to]?.number ?? 0)) to++;
    if (to > at) edit([], after.slice(at, to), after[to]);
    at = to + 1;
  }
  const appended = after.slice(end).map(({ number, message }) => ({ kind: "message", lane, number, message }) as const);
  return [...edits, ...appended];
}

function rangesOf(messages: readonly StoredMessage[]): (readonly [number, number])[] {
  return messages.map(({ number }) => [number, number]);
}

function storageDelta(before: LaneState["storage"], after: LaneState["storage"], lane: number): AgentRecord[] {
  const written = [...after].filter(([key, value]) => !before.has(key) || before.get(key) !== value);
  const gone = [...before.keys()].filter((key) => !after.has(key));
  return [
    ...written.map(([key, value]) => ({ kind: "storage", lane, key, value }) as const),
    ...gone.map((key) => ({ kind: "storage", lane, key }) as const),
  ];
}

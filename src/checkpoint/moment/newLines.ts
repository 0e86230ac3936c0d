import type { Clock } from "../../internal/Clock.ts";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import type { AgentRecord } from "../records/AgentRecord.ts";
import { isOver } from "../records/callRecords.ts";
import type { LanePlace } from "../records/lineRecords.ts";
import type { ModelUsage } from "../tokenUsage/ModelUsage.ts";
import type { Visit } from "../records/Visit.ts";
import { type AgentState, firstVisitOf } from "../state/AgentState.ts";
import { foldUpTo } from "../state/foldTo.ts";
import type { LogProjection } from "../state/LogProjection.ts";
import type { ValueReader } from "../state/ValueReader.ts";
import { UnreadableValueError } from "../../errors/storedDataErrors.ts";
import { encodeValue } from "../values/valueCodec.ts";
import { beginLine, type LineChange } from "./beginLine.ts";
import { CallIds } from "./CallIds.ts";
import { linesTo } from "../lines/lineage.ts";
import type { LineAt, LinesAt } from "./linesAt.ts";
import { recordsSince } from "./recordsSince.ts";

export interface NewLinesOptions {
  readonly move: "branch" | "fork" | "edit" | "migration";
  /** The agent and run that the new ids of calls and requests are derived from. */
  readonly agentId: string;
  readonly runId: string;
  readonly from?: string | undefined;
  readonly nextLane: number;
  readonly nextVersion: number;
  readonly at: number;
  /** Whether to omit open approvals, so that the nodes request them again. Defaults to `false`. */
  readonly asksAgain?: boolean | undefined;
  readonly usage?: ModelUsage | undefined;
  readonly sha256: Sha256;
  readonly reader: (state: AgentState) => ValueReader;
  /** Changes the run, a branch or a sub-agent. The later records and the branches of the changed part are omitted. */
  readonly change?: ((line: LineAt, lane: number, state: AgentState) => LineChange | undefined) | undefined;
}

/**
 * Restarts a run with its branches and sub-agents on new lanes, each with a new checkpoint and the later records of its
 * node. Calls keep their ids and outcomes. A fork repeats calls without an outcome. Requests get new ids.
 *
 * @throws UnreadableValueError if the index lacks lanes of the run.
 */
export function newLines(index: LogProjection, { lines }: LinesAt, options: NewLinesOptions): NewLines {
  const begun = new NewLines(index, options);
  for (const line of lines) begun.add(line);
  return begun;
}

interface Begun {
  readonly lane: number;
  readonly version: number | undefined;
  readonly state: AgentState;
  readonly visitOf: (visit: Visit) => Visit;
  readonly ids: CallIds;
  readonly isChanged: boolean;
}

export class NewLines {
  /** The records to append. Append all records together. */
  readonly records: AgentRecord[] = [];
  readonly lines = new Map<number, Begun>();
  readonly requests = new Map<string, string>();
  nextLane: number;
  nextVersion: number;
  readonly clock: Pick<Clock, "now">;
  readonly usage: ModelUsage | undefined;
  readonly #index: LogProjection;
  readonly #options: NewLinesOptions;

  constructor(index: LogProjection, options: NewLinesOptions) {
    this.#index = index;
    this.#options = options;
    ({ nextLane: this.nextLane, nextVersion: this.nextVersion, usage: this.usage } = options);
    this.clock = { now: () => options.at };
  }

  add(line: LineAt): void {
    const { place: before } = this.#index.lanes.get(line.lane)?.record ?? {};
    const place = before && this.#placeOf(before);
    // The branch or sub-agent starts again if its call has finished, the node around it has changed, or its first
    // checkpoint was pruned.
    if (before && (!place || !line.point)) return;
    const state = foldUpTo(this.#index, line.lane, line.point, line.upTo);
    if (!state) throw new UnreadableValueError(`the start of lane ${line.lane} is not in the log`);
    const lane = this.nextLane++;
    const change = this.#options.change?.(line, lane, state);
    const visitOf = visitsOf(line, lane);
    const ids = this.#idsOf(line, { lane, state, visitOf });
    const first = this.#index.lanes.get(line.lane)?.record;
    const version = line.point && this.nextVersion;
    const start = { lane, point: line.point, first, place, move: this.#options.move };
    this.records.push(...beginLine(this, start, change ?? this.#kept(line, { lane, state, ids, visitOf })));
    this.lines.set(line.lane, { lane, version, state, ids, visitOf, isChanged: change !== undefined });
  }

  #placeOf(place: LanePlace): LanePlace | undefined {
    const around = this.lines.get(place.parent);
    if (!around || around.isChanged) return undefined;
    const { lane: parent, version: fork = 0, state, ids } = around;
    if ("fork" in place) return { parent, fork, branch: place.branch };
    const call = state.calls.get(place.call);
    // A failed call can be retried, and its sub-agent then continues.
    if (!call || (isOver(call.outcome) && !call.outcome.error)) return undefined;
    const id = ids.of(place.call, call.visit);
    this.#nameAgent(around, place.call, id);
    return { parent, call: id };
  }

  #nameAgent({ lane, state, visitOf, ids }: Begun, call: string, id: string): void {
    const { intent, outcome } = state.calls.get(call) ?? {};
    if (!intent) return;
    const at = { lane, visit: visitOf(intent.visit), call: id };
    const input =
      "input" in intent || id === call ? {} : { input: encodeValue(ids.inputOf(call), "the input of a call") };
    this.records.push({ ...intent, ...input, ...at });
    if (id !== call && intent.effect !== "none") this.records.push({ kind: "outcome", ...at, suspended: true });
    else if (id === call && outcome) this.records.push({ ...outcome, ...at });
  }

  #kept(line: LineAt, begun: Omit<Begun, "isChanged" | "version">): LineChange {
    const { move, at, asksAgain = false } = this.#options;
    const isFork = move === "fork";
    const isTriedAgain = (call: string) => this.#isTriedAgain(call);
    const { records, requests } = recordsSince(this.#index, line, { ...begun, isFork, at, asksAgain, isTriedAgain });
    for (const [before, now] of requests) this.requests.set(before, now);
    const { status, digest, reason, verification, files } = line.point?.record ?? {};
    const ended = { status, digest, reason, verification, files };
    return { records, checkpoint: isFork && line.point ? ended : undefined };
  }

  /** Whether a fork makes the call again, because its failure ended the run. */
  #isTriedAgain(call: string): boolean {
    return this.#options.move === "fork" && this.#index.statusState.failedCalls?.includes(call) === true;
  }

  #idsOf(line: LineAt, { lane, state, visitOf }: Pick<Begun, "lane" | "state" | "visitOf">): CallIds {
    const { agentId, runId, from: logOf = agentId, sha256, reader, move } = this.#options;
    const isMadeAnew = (call: string): boolean => {
      const known = state.calls.get(call);
      if (!known) return true;
      if (move === "fork") return !isOver(known.outcome) || this.#isTriedAgain(call);
      return !this.#index.counts(known);
    };
    const before = linesTo(this.#index, logOf, line.lane);
    const from = { agentId, runId, lane };
    return new CallIds({ sha256, line: from, before, state, visitOf, reader: reader(state), isMadeAnew });
  }
}

/** Returns the numbers of node executions on the new lane. Without a checkpoint, these numbers depend on the lane. */
function visitsOf({ point }: LineAt, lane: number): (visit: Visit) => Visit {
  return (visit) => (point ? visit : [firstVisitOf(lane)[0], visit[1]]);
}

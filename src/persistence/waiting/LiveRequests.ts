import type { AgentRun } from "../../agent/feature/AgentRun.ts";
import { enclosingCalls, runOf } from "../../agent/feature/ContextBinding.ts";
import type { RunStart } from "../../agent/feature/RunRequest.ts";
import type { PendingRequest } from "../../agent/feature/RunResult.ts";
import type { InputRequestEvent } from "../../agent/feature/PipelineEvents.ts";
import { foldLine } from "../../checkpoint/state/foldTo.ts";
import type { StatusRecord } from "../../checkpoint/records/runRecords.ts";
import { statusRecords } from "../../checkpoint/state/StatusState.ts";
import { RequestNotOpenError, TimerNotAnswerableError } from "../../errors/requestErrors.ts";
import { UnreadableValueError } from "../../errors/storedDataErrors.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import { Mutex } from "../../internal/Mutex.ts";
import type { Journal } from "../../journal/Journal.ts";
import type { RecordLog } from "../../storage/RecordLog.ts";
import type { RunRecorder } from "../saving/RunRecorder.ts";
import { recorders } from "../saving/recorders.ts";
import { assertAnswersFit, type EncodeReply, endOf, type GivenReply } from "./givenReply.ts";
import { type AskedRequest, askedRecords, tellOpened, leftMs, replyRecord, type ReplyEnd } from "./askedRecords.ts";
import { endsAt, isListDue, runningStatus, waitingStatus } from "./pendingRequests.ts";

interface LiveRequest extends AskedRequest {
  readonly lane: number;
  /** The recorder of the run, branch or sub-agent that continues after the answer. */
  readonly recorder: RunRecorder;
  readonly run: AgentRun;
  readonly forget: () => void;
  /** Ends the search for the event of the request. Resolves when an event that was found is received. */
  readonly stopReceiving?: () => Promise<void>;
}

/** Data of an answered request for error messages. */
interface Answered extends Pick<ReplyEnd, "expired"> {
  /** When a timer ended. `undefined` for other requests. */
  readonly dueAt?: string;
  readonly expiresAt?: string;
}

const liveByJournal = new WeakMap<Journal, LiveRequests>();
const agentsByLog = new WeakMap<RecordLog, Map<string, LiveRequests>>();

/** The open requests of a run in this process. An answer continues the waiting branch immediately. */
export class LiveRequests implements Disposable {
  readonly #journal: Journal;
  readonly #open = new Map<string, LiveRequest>();
  readonly #answered = new Map<string, Answered>();
  waitedFor: readonly PendingRequest[] = [];
  #listed = 0;
  readonly #agents: Map<string, LiveRequests>;
  readonly #turns = new Mutex();

  private constructor(journal: Journal, agents: Map<string, LiveRequests>) {
    this.#journal = journal;
    this.#agents = agents;
  }

  static begin(log: RecordLog, journal: Journal): LiveRequests {
    const agents = agentsByLog.get(log) ?? new Map<string, LiveRequests>();
    const live = new LiveRequests(journal, agents);
    agentsByLog.set(log, agents);
    agents.set(journal.agentId, live);
    liveByJournal.set(journal, live);
    return live;
  }

  static of(journal: Journal): LiveRequests {
    const live = liveByJournal.get(journal);
    if (!live) throw new TypeError(`Agent ${journal.agentId} was not run through Persistence.`);
    return live;
  }

  static at(log: RecordLog, agentId: string): LiveRequests | undefined {
    return agentsByLog.get(log)?.get(agentId);
  }

  /** Stores the requests of a waiting branch immediately, even if other branches continue. */
  open(run: AgentRun, events: readonly InputRequestEvent[]): void {
    const recorder = recorders.of(run);
    const { journal, lane } = recorder;
    const own = events.filter(({ context }) => runOf(context) === run);
    const { asked, records } = askedRecords(recorder, own, waitingCalls(run, events));
    for (const request of asked) this.#add({ ...request, lane, recorder, run });
    for (const { requestId } of events) {
      const nested = this.#open.get(requestId);
      if (nested && nested.run !== run) this.#open.set(requestId, { ...nested, recorder, run });
    }
    // If the run itself waits, the append that ends the run contains the status.
    journal.append([...records, ...(run.parent ? this.#statusIfDue(false) : [])]);
    journal.durable().then(
      () => asked.forEach(({ event, isNew }) => isNew && tellOpened(recorder, event)),
      () => undefined,
    );
  }

  /** Ends the run as `waiting`, unless an answer has arrived. Durable when the promise resolves. */
  async close(events: readonly InputRequestEvent[]): Promise<void> {
    const journal = this.#journal;
    const waiting = events.flatMap(({ requestId }) => this.#open.get(requestId)?.pending ?? []);
    const isAnswered = waiting.length < events.length;
    this[Symbol.dispose]();
    const status = isAnswered ? runningStatus(journal, waiting, true) : waitingStatus(waiting, journal.clock.now());
    journal.append(statusRecords(journal.statusState, status));
    await journal.durable();
    journal.running = false;
    this.waitedFor = waiting;
  }

  [Symbol.dispose](): void {
    for (const { forget } of this.#open.values()) forget();
    this.#open.clear();
    if (this.#agents.get(this.#journal.agentId) === this) this.#agents.delete(this.#journal.agentId);
  }

  /**
   * Answers a request durably if it is open in this process. Otherwise returns `false`.
   *
   * @throws as {@link answerRequests}
   */
  async answer(requestId: string, given: GivenReply): Promise<boolean> {
    const open = this.#openAt(requestId);
    if (!open) return this.#refuseAnswered(requestId);
    const end = await endOf(open.recorder.setup, this.#journal, open.pending, given);
    await open.stopReceiving?.();
    if (this.#openAt(requestId) !== open) return this.#refuseAnswered(requestId);
    await this.#end(open, end);
    return true;
  }

  /** Returns an open request. Removes requests of branches that a move closed. @throws RequestNotOpenError */
  #openAt(requestId: string): LiveRequest | undefined {
    const open = this.#open.get(requestId);
    if (!open?.run.isClosed) return open;
    this.#forgetClosed();
    const { agentId } = this.#journal;
    throw new RequestNotOpenError("request_not_found", agentId, requestId, undefined, [...this.#open.keys()]);
  }

  #forgetClosed(): void {
    for (const [requestId, { run, forget }] of this.#open) {
      if (!run.isClosed) continue;
      forget();
      this.#open.delete(requestId);
    }
  }

  /** Returns the requests for events of branches and sub-agents that a move closed. */
  get closedReceipts(): readonly LiveRequest[] {
    return [...this.#open.values()].filter(({ run, pending }) => run.isClosed && pending.kind === "event");
  }

  #refuseAnswered(requestId: string): false {
    const end = this.#answered.get(requestId);
    const { agentId } = this.#journal;
    if (end?.dueAt !== undefined) throw new TimerNotAnswerableError(agentId, requestId, end.dueAt);
    if (end?.expired) throw new RequestNotOpenError("request_expired", agentId, requestId, end.expiresAt);
    if (end) throw new RequestNotOpenError("request_answered", agentId, requestId);
    return false;
  }

  #statusIfDue(isAnswered: boolean): readonly StatusRecord[] {
    this.#forgetClosed();
    const { size } = this.#open;
    if (!isListDue(this.#listed, size)) return [];
    this.#listed = size;
    const pending = [...this.#open.values()].map((open) => open.pending);
    return statusRecords(this.#journal.statusState, runningStatus(this.#journal, pending, isAnswered));
  }

  #add(request: Omit<LiveRequest, "forget" | "stopReceiving">): void {
    const { pending, recorder, run } = request;
    const { requestId, askedAt } = pending;
    const end = endsAt(pending);
    this.#answered.delete(requestId);
    const { clock } = this.#journal;
    const isNested = run.parent !== undefined;
    const expire = () => void this.#expire(requestId).catch(() => undefined);
    const stopExpiry =
      end !== undefined && isNested ? clock.after(leftMs(clock, { at: Date.parse(askedAt), end }), expire) : undefined;
    const ended = new AbortController();
    const forget = () => {
      stopExpiry?.();
      ended.abort();
    };
    const isReceiving = pending.kind === "event" && isNested;
    const receiving = isReceiving && this.#receive(recorder, pending, ended.signal).catch(() => undefined);
    const stopReceiving = async () => {
      ended.abort();
      await receiving;
    };
    this.#open.set(requestId, { ...request, forget, ...(isReceiving && { stopReceiving }) });
  }

  /** Waits for the event of a request, and continues its branch when the event is sent. */
  async #receive(recorder: RunRecorder, pending: PendingRequest, ended: AbortSignal): Promise<void> {
    const { arrival } = await import("./journalReceipt.ts");
    await this.#deliver(pending.requestId, await arrival(recorder, pending, ended));
  }

  async #deliver(requestId: string, received: unknown): Promise<void> {
    const open = this.#open.get(requestId);
    if (received === undefined || !open || open.run.isClosed) return;
    const { writer } = this.#journal;
    await this.#end(open, () => ({ answer: writer.value(received, "the payload of an event") }));
  }

  async #expire(requestId: string): Promise<void> {
    await this.#open.get(requestId)?.stopReceiving?.();
    const open = this.#open.get(requestId);
    if (open && !open.run.isClosed) await this.#end(open, () => ({ expired: true }));
  }

  async #end({ lane, recorder, run, pending, forget }: LiveRequest, end: EncodeReply): Promise<void> {
    const journal = this.#journal;
    const { requestId, nodeId } = pending;
    const { uploads } = journal.writer;
    const reply = replyRecord(journal, lane, requestId, end());
    assertAnswersFit(journal, nodeId, [reply], uploads);
    const dueAt = pending.kind === "timer" ? pending.dueAt : undefined;
    const { expiresAt } = pending;
    this.#answered.set(requestId, withoutUndefined({ expired: reply.expired, dueAt, expiresAt }));
    forget();
    this.#open.delete(requestId);
    journal.append([reply, ...this.#statusIfDue(true)]);
    // The branch continues at once, so that the run does not end as `waiting`. It reads the answer when that is
    // durable.
    this.#goOn(recorder, run);
    await journal.durable();
  }

  #goOn(recorder: RunRecorder, run: AgentRun): void {
    // The reads run one after another, so that each reads only the records since the previous one.
    const restart = () => this.#turns.runExclusive(() => this.#restart(recorder));
    // If the caller no longer waits for this sub-agent, the caller itself continues.
    if (!run.goOn(restart) && run.parent) this.#goOn(recorders.of(run.parent), run.parent);
  }

  async #restart(recorder: RunRecorder): Promise<RunStart> {
    const { setup, run, lane, line, parent } = recorder;
    const journal = this.#journal;
    this.#forgetOthers(recorder);
    const { restoredRun } = await import("../starting/restoredRun.ts");
    const head = await journal.readNow();
    const { log } = head;
    const state = foldLine(log.index, lane);
    if (!state) throw new UnreadableValueError(`lane ${lane} of a line is not in the log`);
    const next = restoredRun(setup, journal, { log, state }, { lane, run, opening: [], line, parent });
    if (!next.stored) head[Symbol.dispose]();
    recorders.add(next);
    return next.start;
  }

  /** Removes the other requests of a branch, because its node runs again and repeats them. */
  #forgetOthers(recorder: RunRecorder): void {
    const others = [...this.#open].filter(([, open]) => open.recorder === recorder);
    for (const [requestId, { forget }] of others) {
      forget();
      this.#open.delete(requestId);
    }
    if (others.length > 0) this.#journal.append(this.#statusIfDue(true));
  }
}

/** Returns the calls of a branch that wait for a request, or for a sub-agent that waits. */
function waitingCalls(run: AgentRun, events: readonly InputRequestEvent[]): readonly string[] {
  return events.flatMap(({ context }) => {
    let at = runOf(context);
    if (at === run) return enclosingCalls(context);
    while (at.parent && at.parent !== run) at = at.parent;
    return at.call ?? [];
  });
}

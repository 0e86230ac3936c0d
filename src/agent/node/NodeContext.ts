import { DuplicateNameError } from "../../errors/strategyErrors.ts";
import { FeatureNotInstalledError } from "../../errors/agentErrors.ts";
import { checkSchema } from "../../internal/options/checkSchema.ts";
import type { AgentContext, AgentStorage, Decision, FeatureKey, Requirements } from "../context/AgentContext.ts";
import { checkedKey, type StorageKey } from "../context/StorageKey.ts";
import {
  approvalDigest,
  askedQuestion,
  questionDigest,
  inputRequestSchema,
  type InputRequest,
  eventRequest,
  type ReceiveOptions,
  receiveSchema,
  sleepMsSchema,
  sleepUntilSchema,
  timerQuestion,
  timerRequest,
} from "../context/InputRequest.ts";
import { bindContext, withinOf } from "../feature/ContextBinding.ts";
import type { InputRequestEvent, TimerEvent, ToolCallEvent } from "../feature/PipelineEvents.ts";
import { type ApprovalVerdict, approvalRequest, assertApproved } from "../tool/Tool.ts";
import { storageSlot } from "../state/CallChanges.ts";
import { CallScope, type ScopeCall } from "./CallScope.ts";
import type { NodeExecution } from "./NodeExecution.ts";
import { NodeLlm } from "./NodeLlm.ts";
import { NodeTools } from "./NodeTools.ts";

/** The context of a node, or of a tool call in a node. A move closes the context and all objects that it returned. */
export class NodeContext implements AgentContext {
  readonly #visit: NodeExecution;
  readonly scope: CallScope;
  // Members are created on first use, because every node execution has a context and few use all members.
  #llm: NodeLlm | undefined;
  #tools: NodeTools | undefined;
  #storage: AgentStorage | undefined;

  constructor(visit: NodeExecution, call?: ScopeCall) {
    this.#visit = visit;
    this.scope = new CallScope(visit, this, call);
    bindContext(this, {
      run: visit.run,
      visit: visit.at,
      input: visit.input,
      ends: visit.ends,
      execution: visit,
      ...(call && { call: { toolCallId: call.toolCallId }, around: call.around }),
    });
  }

  get agentId(): string {
    return this.#open.line.agentId;
  }
  get runId(): string {
    return this.#open.line.runId;
  }
  get nodeId(): string {
    return this.#open.nodeId;
  }
  get signal(): AbortSignal {
    this.#visit.assertOpen();
    return this.scope.signal;
  }
  get llm(): NodeLlm {
    this.#visit.assertOpen();
    return (this.#llm ??= new NodeLlm(this.scope));
  }
  get tools(): NodeTools {
    this.#visit.assertOpen();
    return (this.#tools ??= new NodeTools(this.scope, (call) => new NodeContext(this.#visit, call)));
  }
  get storage(): AgentStorage {
    this.#visit.assertOpen();
    return (this.#storage ??= {
      get: (key) => this.#open.state.storage.get(checkedKey(key)),
      set: (key, value) => this.#changeStorage(key, (storage) => storage.set(key, value)),
      delete: (key) => this.#changeStorage(key, (storage) => storage.delete(key)),
    });
  }

  #changeStorage(key: Pick<StorageKey<unknown>, "name">, change: (storage: AgentStorage) => void): void {
    const { name } = checkedKey(key);
    this.scope.change(({ storage }) => change(storage), { slots: [storageSlot(name)] });
  }

  setProgress(percent: number, summary?: string): void {
    this.scope.change((state) => state.setProgress(percent, summary), { slots: ["progress"] });
  }

  recordDecision(decision: Decision): void {
    this.scope.change((state) => state.recordDecision(decision), { decisions: [decision] });
  }

  require(needs: Requirements): void {
    this.scope.change((state) => state.require(needs), { requirements: [needs] });
  }

  feature<Instance>(feature: FeatureKey<Instance>): Instance {
    return this.#open.run.definition.feature(feature);
  }

  async requestInput<Answer>(request: InputRequest<Answer>): Promise<Answer> {
    const { nodeId, run, at } = this.#open;
    if (!run.claims("requestInput")) throw new FeatureNotInstalledError("Persistence", "requestInput()");
    // Validates here and not in the asynchronous part, so that the node can catch the error.
    checkSchema(inputRequestSchema, request, "request for input");
    const { id } = request;
    if (id !== undefined && !this.#visit.claimRequest(id))
      throw new DuplicateNameError("duplicate_request", id, nodeId);
    const question = questionDigest(askedQuestion(request), run.sha256);
    const ordinal = id === undefined && { ordinal: this.scope.nextOrdinalOf(question) };
    const requestId = this.scope.requestIdAt(ordinal ? { question, ...ordinal } : { question, id: id ?? "" });
    const event: InputRequestEvent = { requestId, nodeId, request, question, ...ordinal, context: this, visit: at };
    const answer = await this.#answerTo(event);
    return answer as Answer;
  }

  async sleep(ms: number): Promise<void> {
    checkSchema(sleepMsSchema, ms, "argument of sleep()");
    const { clock } = this.#open.run.abortGrace;
    await this.#sleep({ dueAt: Math.ceil(clock.now() + ms), leftMs: ms, mayWait: false });
  }

  async sleepUntil(date: Date): Promise<void> {
    checkSchema(sleepUntilSchema, date, "argument of sleepUntil()");
    const { clock } = this.#open.run.abortGrace;
    const dueAt = date.getTime();
    await this.#sleep({ dueAt, leftMs: Math.max(0, dueAt - clock.now()), mayWait: false });
  }

  async receive<Payload>(name: string, options: ReceiveOptions<Payload>): Promise<Payload> {
    checkSchema(receiveSchema, { ...options, name }, "arguments of receive()");
    const { run } = this.#open;
    if (!run.claims("requestInput")) throw new FeatureNotInstalledError("Persistence", "receive()");
    const { schema, timeoutMs: leftMs = Infinity } = options;
    const dueAt = Math.ceil(run.abortGrace.clock.now() + leftMs);
    const question = questionDigest(askedQuestion(eventRequest(name, Infinity)), run.sha256);
    const isLeft = () => this.#visit.pending.isOver(withinOf(this));
    return this.#sleep(
      { dueAt, leftMs, mayWait: false, event: { name, schema, isLeft } },
      question,
    ) as Promise<Payload>;
  }

  async #sleep(timer: TimerEvent, question = timerQuestion(this.#open.run.sha256)): Promise<unknown> {
    const { nodeId, run, at } = this.#open;
    const ordinal = this.scope.nextOrdinalOf(question);
    const requestId = this.scope.requestIdAt({ question, ordinal });
    const request = timer.event ? eventRequest(timer.event.name, timer.dueAt) : timerRequest(timer.dueAt);
    const event: InputRequestEvent = { requestId, nodeId, request, question, ordinal, timer, context: this, visit: at };
    return this.scope
      .start(requestId, (signal) =>
        run.pipeline.around("inputRequest", event, (accepted) => this.#visit.sleep(accepted, signal)),
      )
      .finally(() => this.#visit.allowUnanswered());
  }

  /** Waits for approval if the tool call of this context needs it. @throws ToolRejectedError */
  async requestApproval(call: ToolCallEvent, judge: () => Promise<ApprovalVerdict>): Promise<void> {
    const { nodeId, run, at } = this.#open;
    const { tool, input } = call;
    if (!run.claims("requestInput")) {
      if ((await judge()) === false) return;
      throw new FeatureNotInstalledError("Persistence", `A call of tool "${tool.name}", which needs an approval,`);
    }
    const question = approvalDigest(tool.name, input, run.sha256);
    const ordinal = this.scope.nextOrdinalOf(question);
    const requestId = this.scope.requestIdAt({ question, ordinal });
    const request = approvalRequest(tool.name);
    const approval = { call, judge };
    const event = { requestId, nodeId, request, question, ordinal, approval, context: this, visit: at };
    assertApproved(await this.#answerTo(event), call);
  }

  #answerTo(event: InputRequestEvent): Promise<unknown> {
    const { run } = this.#visit;
    return this.scope
      .start(event.requestId, (signal) =>
        run.pipeline.around("inputRequest", event, (accepted) => this.#visit.hold(accepted, signal)),
      )
      .finally(() => this.#visit.allowUnanswered());
  }

  get #open(): NodeExecution {
    this.#visit.assertOpen();
    return this.#visit;
  }
}

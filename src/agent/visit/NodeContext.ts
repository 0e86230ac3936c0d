import type {
  AgentContext,
  AgentLlm,
  AgentStorage,
  AgentTools,
  Decision,
  Requirements,
} from "../context/AgentContext.ts";
import type { InputRequest } from "../context/InputRequest.ts";
import type { StorageKey } from "../context/StorageKey.ts";
import type { FeatureKey } from "../context/FeatureKey.ts";
import { bindContext } from "../feature/ContextBinding.ts";
import { CallScope, type ScopeCall } from "./CallScope.ts";
import { NodeInput } from "./NodeInput.ts";
import { NodeLlm } from "./NodeLlm.ts";
import { NodeTools } from "./NodeTools.ts";
import { ToolCaller } from "./ToolCaller.ts";
import type { NodeExecution } from "./NodeExecution.ts";

/** The context of a node, or of a tool call within it. Every member, and what it gave out before, is closed by a move. */
export class NodeContext implements AgentContext {
  readonly #visit: NodeExecution;
  readonly #scope: CallScope;
  // Made when they are asked for: every step of a run has a context of its own.
  #llm: AgentLlm | undefined;
  #tools: AgentTools | undefined;
  #storage: AgentStorage | undefined;
  #input: NodeInput | undefined;

  /** @param call the tool call it is made for; absent: it is the node's own. */
  constructor(visit: NodeExecution, call?: ScopeCall) {
    this.#visit = visit;
    this.#scope = new CallScope(visit, call);
    bindContext(this, {
      run: visit.run,
      visit: visit.at,
      input: visit.input,
      ...(call && { call: { toolCallId: call.toolCallId } }),
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
    return this.#scope.signal;
  }

  get llm(): AgentLlm {
    this.#visit.assertOpen();
    return (this.#llm ??= new NodeLlm(this.#scope, this));
  }

  get tools(): AgentTools {
    this.#visit.assertOpen();
    return (this.#tools ??= this.#makeTools());
  }

  get storage(): AgentStorage {
    this.#visit.assertOpen();
    return (this.#storage ??= new GuardedStorage(this.#visit));
  }

  setProgress(percent: number, summary?: string): void {
    this.#open.state.setProgress(percent, summary);
  }

  recordDecision(decision: Decision): void {
    this.#open.state.recordDecision(decision);
  }

  require(needs: Requirements): void {
    this.#open.state.require(needs);
  }

  requestInput<Answer>(request: InputRequest<Answer>): Promise<Answer> {
    this.#input ??= new NodeInput(this.#scope, this);
    return this.#input.request(request);
  }

  feature<Instance>(feature: FeatureKey<Instance>): Instance {
    return this.#open.run.definition.feature(feature);
  }

  #makeTools(): AgentTools {
    const caller = new ToolCaller(this.#scope, this, (inner) => new NodeContext(this.#visit, inner));
    return new NodeTools(this.#scope, caller);
  }

  get #open(): NodeExecution {
    this.#visit.assertOpen();
    return this.#visit;
  }
}

/** The storage of a run as one context sees it: closed when the run has left its node. */
export class GuardedStorage implements AgentStorage {
  readonly #visit: NodeExecution;

  constructor(visit: NodeExecution) {
    this.#visit = visit;
  }

  get<Value>(key: StorageKey<Value>): Value | undefined {
    return this.#storage.get(key);
  }

  set<Value>(key: StorageKey<Value>, value: NoInfer<Value>): void {
    this.#storage.set(key, value);
  }

  delete(key: Pick<StorageKey<unknown>, "name">): void {
    this.#storage.delete(key);
  }

  get #storage(): AgentStorage {
    this.#visit.assertOpen();
    return this.#visit.state.storage;
  }
}

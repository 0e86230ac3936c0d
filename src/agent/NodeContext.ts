import type { AgentContext, AgentLlm, AgentStorage, AgentTools, Decision, Requirements } from "./AgentContext.ts";
import type { AgentFeature } from "./AgentFeature.ts";
import { CallScope, type ScopeCall } from "./CallScope.ts";
import { bindContext } from "./ContextBinding.ts";
import { GuardedStorage } from "./GuardedStorage.ts";
import type { InputRequest } from "./InputRequest.ts";
import { NodeInput } from "./NodeInput.ts";
import { NodeLlm } from "./NodeLlm.ts";
import { NodeTools } from "./NodeTools.ts";
import { ToolCaller } from "./ToolCaller.ts";
import type { Visit } from "./Visit.ts";

/** The context of a node, or of a tool call within it. Every member, and what it gave out before, is closed by a move. */
export class NodeContext implements AgentContext {
  readonly #visit: Visit;
  readonly #scope: CallScope;
  readonly #llm: AgentLlm;
  readonly #tools: AgentTools;
  readonly #storage: AgentStorage;
  readonly #input: NodeInput;

  /** @param call the tool call it is made for; absent: it is the node's own. */
  constructor(visit: Visit, call?: ScopeCall) {
    const scope = new CallScope(visit, call);
    this.#visit = visit;
    this.#scope = scope;
    this.#llm = new NodeLlm(scope, this);
    this.#tools = new NodeTools(scope, new ToolCaller(scope, this, (inner) => new NodeContext(visit, inner)));
    this.#storage = new GuardedStorage(visit);
    this.#input = new NodeInput(scope, this);
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
    return this.#llm;
  }

  get tools(): AgentTools {
    this.#visit.assertOpen();
    return this.#tools;
  }

  get storage(): AgentStorage {
    this.#visit.assertOpen();
    return this.#storage;
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
    return this.#input.request(request);
  }

  feature<Instance>(feature: AgentFeature<never, Instance>): Instance {
    return this.#open.run.definition.feature(feature);
  }

  get #open(): Visit {
    this.#visit.assertOpen();
    return this.#visit;
  }
}

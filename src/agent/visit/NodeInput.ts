import { DuplicateNameError } from "../../errors/agent/DuplicateNameError.ts";
import { FeatureNotInstalledError } from "../../errors/agent/FeatureNotInstalledError.ts";
import { checkSchema } from "../../internal/options/checkSchema.ts";
import type { AgentContext } from "../context/AgentContext.ts";
import type { CallScope } from "./CallScope.ts";
import { inputRequestSchema, type InputRequest } from "../context/InputRequest.ts";
import type { InputRequestEvent } from "../feature/PipelineEvents.ts";

/** What one context asks of somebody outside. */
export class NodeInput {
  readonly #scope: CallScope;
  readonly #context: AgentContext;

  constructor(scope: CallScope, context: AgentContext) {
    this.#scope = scope;
    this.#context = context;
  }

  /** @throws InvalidInputError, FeatureNotInstalledError, DuplicateNameError, and what the feature that keeps requests throws. */
  async request<Answer>(request: InputRequest<Answer>): Promise<Answer> {
    const { visit } = this.#scope;
    visit.assertOpen();
    const { pipeline } = visit.run;
    if (!pipeline.claims("requestInput")) throw new FeatureNotInstalledError("Persistence", "requestInput()");
    // Refused where the node can still catch it.
    checkSchema(inputRequestSchema, request, "request for input");
    const { id } = request;
    const place = id === undefined ? { ordinal: this.#scope.nextOrdinal("r") } : { id };
    const requestId = this.#scope.requestIdAt(place);
    if (!visit.claimRequest(requestId))
      throw new DuplicateNameError("duplicate_request", id ?? requestId, visit.nodeId);
    const event: InputRequestEvent = {
      requestId,
      nodeId: visit.nodeId,
      request,
      ...("ordinal" in place && place),
      context: this.#context,
      visit: visit.at,
    };
    const answer = await visit.start({ id: requestId, within: this.#scope.call?.toolCallId }, (signal) =>
      pipeline.around("inputRequest", event, (accepted) => visit.hold(accepted, signal)),
    );
    // The schema of the request made it.
    return answer as Answer;
  }
}

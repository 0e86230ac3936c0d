import type { AgentContext } from "../../agent/context/AgentContext.ts";
import { markRunFailure } from "../../agent/feature/Pipeline.ts";
import { isToolFailure, type AnyTool, type ToolCallOptions } from "../../agent/tool/Tool.ts";
import {
  approvalOfCall,
  callOfResponse,
  type HostedModel,
  requestThrough,
  type RequestPlace,
} from "../../agent/node/hostedCalls.ts";
import { isSameValue } from "../../checkpoint/values/isSameValue.ts";
import { ToolRejectedError } from "../../errors/toolCallErrors.ts";
import { ScopedValue } from "./ScopedValue.ts";
import { persistence } from "../../persistence/Persistence.ts";
import { ResponsePieces } from "./HostedPieces.ts";
import type { StreamWriter } from "../../streams/write/StreamWriter.ts";
import { hostedResponse, storedResponse, ResponseCalls, type ResponseCall } from "./responseMessage.ts";
import type {
  ApprovableCall,
  GivenHostedResponse,
  HostedResponse,
  HostedApproval,
  HostedCall,
  HostedLoop,
  HostedPlace,
} from "./HostedLoop.ts";

/** The loop of a running node. Records its requests, or returns the results that an earlier attempt recorded. */
export class LiveLoop implements HostedLoop {
  readonly #context: AgentContext;
  /** The context of the tool call around the current code, whose model requests belong to the call. */
  readonly #within = new ScopedValue<AgentContext>();
  readonly #calls = new ResponseCalls();
  readonly #writer: StreamWriter | undefined;
  live = false;
  failure: HostedLoop["failure"];
  /** Whether records were added since the last checkpoint of this node. */
  #isUnsaved = false;

  /** @param writer - stores responses while models write them, so that other processes can show them. */
  constructor(context: AgentContext, writer?: StreamWriter) {
    this.#context = context;
    this.#writer = writer;
  }

  get agentId(): string {
    return this.#context.agentId;
  }
  get runId(): string {
    return this.#context.runId;
  }
  get signal(): AbortSignal {
    return this.#context.signal;
  }

  async answer(
    perform: (place: HostedPlace) => Promise<HostedResponse>,
    asked?: HostedModel,
  ): Promise<GivenHostedResponse> {
    this.#assertSound();
    const context = this.#here;
    const performed: { error?: unknown } = {};
    const execute = async (place: RequestPlace) => {
      const pieces = context === this.#context ? this.#pieces(place) : undefined;
      if (context === this.#context) await this.#saveStep();
      this.live = true;
      try {
        return storedResponse(await perform({ ...place, pieces }));
      } catch (error) {
        pieces?.discard();
        performed.error = error;
        throw error;
      }
    };
    const answer = requestThrough(context, { asked, execute });
    this.#calls.await(answer.then(({ message }) => this.#calls.add(message)));
    try {
      const given = await answer;
      this.#isUnsaved ||= !given.replayed;
      return hostedResponse(given);
    } catch (error) {
      // The other runtime handles errors of the model.
      if ("error" in performed && performed.error === error) throw error;
      return this.#fail(error);
    }
  }

  async call(toolCallId: string, { tool, input, perform }: HostedCall): Promise<unknown> {
    this.#assertSound();
    const context = this.#here;
    const asked = await this.#asked(toolCallId);
    const executed = this.#executed(tool.tool, perform);
    return this.#settled(callOfResponse(context, { ...asked, tool: executed, input: inputOf(asked, input) }));
  }

  async step({ tool, input, perform }: HostedCall): Promise<unknown> {
    this.#assertSound();
    const unrecorded: HostedCall["perform"] = async (options) => {
      try {
        return await perform(options);
      } catch (error) {
        markRunFailure(error);
        throw error;
      }
    };
    return this.#settled(this.#here.tools.call(this.#executed(tool.tool, unrecorded), input as never));
  }

  async approvals(calls: readonly ApprovableCall[]): Promise<readonly HostedApproval[]> {
    this.#assertSound();
    const context = this.#here;
    return Promise.all(calls.map((call) => this.#approval(context, call)));
  }

  async durable(): Promise<void> {
    await persistence(this.#context)
      .durable()
      .catch((error: unknown) => this.#fail(error));
  }

  async #approval(context: AgentContext, { toolCallId, tool, input }: ApprovableCall): Promise<HostedApproval> {
    const asked = await this.#asked(toolCallId);
    try {
      await approvalOfCall(context, { ...asked, tool: tool.tool, input: inputOf(asked, input) });
      return { approved: true };
    } catch (error) {
      if (error instanceof ToolRejectedError) return { approved: false, reason: error.reason };
      return this.#fail(error);
    }
  }

  #pieces({ ordinal }: RequestPlace): ResponsePieces | undefined {
    return this.#writer && new ResponsePieces(this.#writer, { runId: this.runId, ordinal });
  }

  /** A call that no response contains ends the run, so that the model does not see the error. */
  #asked(toolCallId: string): Promise<ResponseCall> {
    return this.#calls.of(toolCallId).catch((error: unknown) => this.#fail(error));
  }

  get #here(): AgentContext {
    return this.#within.get() ?? this.#context;
  }

  /** Saves a checkpoint if the last step added records, so that a rollback can keep them. */
  async #saveStep(): Promise<void> {
    if (!this.#isUnsaved) return;
    this.#isUnsaved = false;
    await persistence(this.#context).createCheckpoint();
  }

  #executed(tool: AnyTool, perform: HostedCall["perform"]): AnyTool {
    return {
      ...tool,
      execute: (_input: unknown, { context, toolCallId, abortSignal, generation }: ToolCallOptions) => {
        this.live = true;
        return this.#within.run(context, () => perform({ toolCallId, abortSignal, generation }));
      },
    };
  }

  async #settled(call: Promise<unknown>): Promise<unknown> {
    try {
      return await call;
    } catch (error) {
      if (isToolFailure(error)) throw error;
      return this.#fail(error);
    } finally {
      this.#isUnsaved ||= this.live;
    }
  }

  #assertSound(): void {
    if (this.failure) throw this.failure.error;
  }

  #fail(error: unknown): never {
    this.failure ??= { error };
    throw error;
  }
}

/** Returns the input of the response if it equals the given input, so that it is stored only once. */
function inputOf({ part }: ResponseCall, input: unknown): unknown {
  return isSameValue(part.input, input) ? part.input : input;
}

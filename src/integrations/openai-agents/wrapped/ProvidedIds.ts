import type { ModelRequest, ModelResponse, RunToolApprovalItem } from "@openai/agents-core";
import type { GivenHostedAnswer } from "../../hosted/HostedLoop.ts";
import { isHostedCall, responseOf } from "./recordedAnswer.ts";

type Item = Extract<ModelRequest["input"], readonly unknown[]>[number];

/**
 * The ids that the provider gave to the calls of a run. The SDK, the tools and the session see the ids of this library, which
 * no other call has; the provider sees its own.
 */
export class ProvidedIds {
  readonly #provided = new Map<string, string>();
  /** Those of earlier runs, which a session has told. */
  readonly #earlier = new Map<string, string>();

  /** The library's ids of calls that the provider makes, by the ids that the SDK sees. */
  readonly #hosted = new Map<string, string>();

  /** The answer as the SDK gets it. */
  noted(given: GivenHostedAnswer): ModelResponse {
    const { content } = given.message;
    for (const part of typeof content === "string" ? [] : content) {
      if (part.type !== "tool-call") continue;
      const { toolCallId, providerToolCallId = toolCallId } = part;
      if (isHostedCall(part)) this.#hosted.set(providerToolCallId, toolCallId);
      else this.#provided.set(toolCallId, providerToolCallId);
    }
    return responseOf(given);
  }

  /** Makes the ids of earlier runs known. */
  learn(ids: readonly (readonly [call: string, provided: string])[]): void {
    for (const [call, provided] of ids) this.#earlier.set(call, provided);
  }

  /** What the provider calls a call; `undefined`: it is not known to be called otherwise. */
  providedOf(callId: string): string | undefined {
    return this.#provided.get(callId) ?? this.#earlier.get(callId);
  }

  /** Whether a recorded answer of this run asks for the call. */
  has(toolCallId: string): boolean {
    return this.#provided.has(toolCallId);
  }

  /** Returns the library's id of a call that waits for an approval. `undefined` if no recorded answer asks for it. */
  ofApproval(call: RunToolApprovalItem["rawItem"]): string | undefined {
    if (call.type === "hosted_tool_call") return this.#hosted.get(String(call.providerData?.["id"] ?? call.id));
    return "callId" in call && this.has(call.callId) ? call.callId : undefined;
  }

  /** The request as the provider gets it. Calls of unknown runs keep their ids. */
  provided(request: ModelRequest): ModelRequest {
    const { input } = request;
    return typeof input === "string" ? request : { ...request, input: input.map((item) => this.#item(item)) };
  }

  #item(item: Item): Item {
    if (item.type !== "function_call" && item.type !== "function_call_result") return item;
    const callId = this.providedOf(item.callId);
    return callId === undefined ? item : { ...item, callId };
  }
}

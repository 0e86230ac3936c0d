import type { ModelRequest, ModelResponse, RunToolApprovalItem } from "@openai/agents-core";
import type { GivenHostedResponse } from "../../hosted/HostedLoop.ts";
import { isHostedCall, responseOf } from "./recordedAnswer.ts";

type Item = Extract<ModelRequest["input"], readonly unknown[]>[number];

/** Maps between the provider's ids of calls and the unique ids of this library, which the SDK and tools see. */
export class ProvidedIds {
  readonly #provided = new Map<string, string>();
  /** The ids from earlier runs, which a session provided. */
  readonly #earlier = new Map<string, string>();

  /** The library's ids of calls that the provider executes, by the ids that the SDK sees. */
  readonly #hosted = new Map<string, string>();

  /** Registers the ids of a response and returns the response for the SDK. */
  noted(given: GivenHostedResponse): ModelResponse {
    const { content } = given.message;
    for (const part of typeof content === "string" ? [] : content) {
      if (part.type !== "tool-call") continue;
      const { toolCallId, providerToolCallId = toolCallId } = part;
      if (isHostedCall(part)) this.#hosted.set(providerToolCallId, toolCallId);
      else this.#provided.set(toolCallId, providerToolCallId);
    }
    return responseOf(given);
  }

  learn(ids: readonly (readonly [call: string, provided: string])[]): void {
    for (const [call, provided] of ids) this.#earlier.set(call, provided);
  }

  /** Returns the provider's id of a call, or `undefined` if no other id is known. */
  providedOf(callId: string): string | undefined {
    return this.#provided.get(callId) ?? this.#earlier.get(callId);
  }

  has(toolCallId: string): boolean {
    return this.#provided.has(toolCallId);
  }

  /** Returns the library's id of a call that waits for an approval. `undefined` if no recorded response requests it. */
  ofApproval(call: RunToolApprovalItem["rawItem"]): string | undefined {
    if (call.type === "hosted_tool_call") return this.#hosted.get(String(call.providerData?.["id"] ?? call.id));
    return "callId" in call && this.has(call.callId) ? call.callId : undefined;
  }

  /** Returns the request with the provider's ids. Calls of unknown runs keep their ids. */
  provided(request: ModelRequest): ModelRequest {
    const { input } = request;
    return typeof input === "string" ? request : { ...request, input: this.providedItems(input) };
  }

  /** Returns items with the provider's ids. Calls of unknown runs keep their ids. */
  providedItems(items: readonly Item[]): Item[] {
    return items.map((item) => this.#item(item));
  }

  #item(item: Item): Item {
    if (item.type !== "function_call" && item.type !== "function_call_result") return item;
    const callId = this.providedOf(item.callId);
    return callId === undefined ? item : { ...item, callId };
  }
}

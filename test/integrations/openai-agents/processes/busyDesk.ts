import { Agent, type ModelRequest, type ModelResponse } from "@openai/agents-core";
import type { Gate } from "../../ai-sdk-agents/support/gate.ts";
import { FakeModel, says } from "../fakeModel.ts";

/** A model that answers "one" only when its gate is open, and anything else at once. */
class GatedModel extends FakeModel {
  readonly asked: string[] = [];
  readonly #gate: Gate | undefined;

  constructor(gate: Gate | undefined) {
    super((items) => [says(`on ${saidIn(items)}`)]);
    this.#gate = gate;
  }

  override async getResponse(request: ModelRequest): Promise<ModelResponse> {
    const { input, signal } = request;
    const said = typeof input === "string" ? input : saidIn(input);
    this.asked.push(said);
    if (said === "one") await Promise.race([this.#gate?.pass(), aborted(signal)]);
    return super.getResponse(request);
  }
}

function saidIn(items: readonly unknown[]): string {
  const { content } = items.at(-1) as { readonly content: unknown };
  return String(content);
}

function aborted(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_resolve, reject) => signal?.addEventListener("abort", () => reject(signal.reason as Error)));
}

/** An agent of one model request. */
export function busyDesk(gate?: Gate) {
  const model = new GatedModel(gate);
  return { desk: new Agent({ name: "desk", model }), model };
}

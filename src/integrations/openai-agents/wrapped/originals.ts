import { copyWith } from "../../../internal/copyWith.ts";

/** By durable agent or tool: the user's original. */
const originals = new WeakMap<object, object>();

export function noteOriginal(durable: object, original: object): void {
  originals.set(durable, original);
}

/** Returns the original of a durable agent or tool. Returns any other value unchanged. */
export function originalOf<Given>(given: Given): Given {
  return typeof given === "object" && given !== null ? ((originals.get(given) as Given | undefined) ?? given) : given;
}

/** Returns a copy with the user's agent in `agent`. Returns the value itself if its agent is not durable. */
export function withOriginalAgent<Given>(given: Given): Given {
  if (typeof given !== "object" || given === null || !("agent" in given)) return given;
  const agent = originalOf(given.agent);
  return agent === given.agent ? given : copyWith(given, { agent });
}

/** Wraps a user's function that the SDK calls: it receives original agents and tools, and keeps its properties. */
export function givenOriginals<Parameters extends readonly unknown[], Result>(
  code: (...parameters: Parameters) => Result,
): (...parameters: Parameters) => Result {
  const wrapped = (...parameters: Parameters) =>
    code(...(parameters.map((each) => withOriginalAgent(originalOf(each))) as unknown as Parameters));
  return Object.assign(wrapped, code);
}

/** The agents and tools of users, by the durable ones that a run puts in their places. */
const originals = new WeakMap<object, object>();

/** Notes what a durable agent or tool stands for. */
export function noteOriginal(durable: object, original: object): void {
  originals.set(durable, original);
}

/** Returns the agent or tool that a durable one stands for. Any other value is returned as it is. */
export function originalOf<Given>(given: Given): Given {
  return typeof given === "object" && given !== null ? ((originals.get(given) as Given | undefined) ?? given) : given;
}

/** Returns a copy whose `agent` is the user's. Returns the value itself if it has no durable agent. */
export function withOriginalAgent<Given>(given: Given): Given {
  if (typeof given !== "object" || given === null || !("agent" in given)) return given;
  const agent = originalOf(given.agent);
  if (agent === given.agent) return given;
  const copy: object = Object.create(Object.getPrototypeOf(given) as object | null, {
    ...Object.getOwnPropertyDescriptors(given),
    agent: { value: agent, enumerable: true, configurable: true, writable: true },
  });
  return copy as Given;
}

/** Wraps code of the user that the SDK calls with agents and tools, or with objects that have an `agent`. */
export function givenOriginals<Parameters extends readonly unknown[], Result>(
  code: (...parameters: Parameters) => Result,
): (...parameters: Parameters) => Result {
  return (...parameters) =>
    code(...(parameters.map((each) => withOriginalAgent(originalOf(each))) as unknown as Parameters));
}

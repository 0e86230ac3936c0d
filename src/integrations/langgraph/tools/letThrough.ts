import { AsyncLocalStorageProviderSingleton } from "@langchain/core/singletons";

/** Errors that end a run: no tool has failed with them. */
const passing = new WeakSet<object>();

/** Of this name, a `ToolNode` lets an error out; of any other, it tells the model of it. */
const nameThatPasses = "GraphDrained";

/** Lets an error out of every node of a graph. Outside of nodes, it has the name that it had. */
export function letThrough(error: unknown): void {
  if (typeof error !== "object" || error === null || passing.has(error)) return;
  passing.add(error);
  const { name } = error as { readonly name?: unknown };
  const get = (): unknown => (isInTask() ? nameThatPasses : name);
  // One that cannot be changed is refused when its task ends.
  Reflect.defineProperty(error, "name", { get, configurable: true, enumerable: false });
}

/** Lets through what an action of a checkpointer fails with: a graph within a tool fails with it, and the tool has not. */
export async function lettingThrough<Result>(action: () => Promise<Result>): Promise<Result> {
  try {
    return await action();
  } catch (error) {
    letThrough(error);
    throw error;
  }
}

/** Whether an error was let through, or collects one that was. */
export function isLetThrough(error: unknown): boolean {
  if (typeof error !== "object" || error === null) return false;
  const { errors } = error as { readonly errors?: unknown };
  return passing.has(error) || (Array.isArray(errors) && errors.some((each) => passing.has(Object(each) as object)));
}

function isInTask(): boolean {
  const config = AsyncLocalStorageProviderSingleton.getRunnableConfig() as
    | { readonly configurable?: Readonly<Record<string, unknown>> }
    | undefined;
  return config?.configurable?.["__pregel_task_id"] !== undefined;
}

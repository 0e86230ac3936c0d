import { AsyncLocalStorageProviderSingleton } from "@langchain/core/singletons";

/** Errors that end a run and are not failures of a tool. */
const passing = new WeakSet<object>();

/** A `ToolNode` rethrows errors with this name. It passes all other errors to the model. */
const nameThatPasses = "GraphDrained";

/** Changes an error so that every node of a graph rethrows it. Outside of nodes, the error has its original name. */
export function letThrough(error: unknown): void {
  if (typeof error !== "object" || error === null || passing.has(error)) return;
  passing.add(error);
  const { name } = error as { readonly name?: unknown };
  const get = (): unknown => (isInTask() ? nameThatPasses : name);
  // Has no effect on a frozen error. The run rejects with such an error when its task ends.
  Reflect.defineProperty(error, "name", { get, configurable: true, enumerable: false });
}

/** Marks errors of checkpointer actions, so that a graph inside a tool fails without a failure of the tool. */
export async function lettingThrough<Result>(action: () => Promise<Result>): Promise<Result> {
  try {
    return await action();
  } catch (error) {
    letThrough(error);
    throw error;
  }
}

/** Returns whether an error, or an error that it aggregates, was marked. */
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

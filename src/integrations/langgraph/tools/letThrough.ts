import { AsyncLocalStorageProviderSingleton } from "@langchain/core/singletons";

/** Errors that end a run and are not failures of a tool. */
const passing = new WeakSet<object>();

/** A `ToolNode` rethrows errors with this name, and sends all other errors to the model. */
const nameThatPasses = "GraphDrained";

/** Changes an error so that every node of a graph rethrows it. Outside of nodes, the error keeps its original name. */
export function letThrough(error: unknown): void {
  if (typeof error !== "object" || error === null || passing.has(error)) return;
  passing.add(error);
  const { name } = error as { readonly name?: unknown };
  const get = (): unknown => (isInTask() ? nameThatPasses : name);
  // A frozen error stays unchanged. In this case, the run rejects with the error when its task ends.
  Reflect.defineProperty(error, "name", { get, configurable: true, enumerable: false });
}

/** Marks errors of a checkpointer. A marked error that ends a graph inside a tool is no failure of the tool. */
export async function lettingThrough<Result>(action: () => Promise<Result>): Promise<Result> {
  try {
    return await action();
  } catch (error) {
    letThrough(error);
    throw error;
  }
}

/** Returns whether an error, or one of its `errors`, was marked. */
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

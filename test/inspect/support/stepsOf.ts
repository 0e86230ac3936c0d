import { inspect, type StepView } from "agent-persistence/inspect";
import type { PersistenceStorageProvider } from "agent-persistence";

/** The newest steps of the agent "a". */
export async function stepsOf(storage: PersistenceStorageProvider, agentId = "a"): Promise<readonly StepView[]> {
  return (await inspect(storage).steps(agentId, { limit: 1_000 })).steps;
}

type Step<Kind extends StepView["kind"]> = Extract<StepView, { kind: Kind }>;

/** The steps of one kind. */
export function ofKind<Kind extends StepView["kind"]>(steps: readonly StepView[], kind: Kind): readonly Step<Kind>[] {
  return steps.filter((step): step is Step<Kind> => step.kind === kind);
}

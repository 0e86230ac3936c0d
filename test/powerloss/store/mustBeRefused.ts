import { OwnershipLostError } from "agent-persistence";
import { Violation } from "../Violation.ts";

/** @throws Violation when an owner that is none any more can still do something. */
export async function mustBeRefused(what: string, action: () => Promise<unknown>): Promise<void> {
  const error: unknown = await action().then(
    () => undefined,
    (refusal: unknown) => refusal,
  );
  if (!(error instanceof OwnershipLostError))
    throw new Violation("owned by one", `the ${what} of an owner that was taken over ended with ${String(error)}`);
}

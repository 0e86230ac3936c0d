import { reasonOf } from "../../internal/reasonOf.ts";
import { warn } from "../../internal/warn.ts";

/** Calls a listener. Its errors become process warnings. */
export async function safely(when: string, call: () => void | PromiseLike<void>): Promise<void> {
  try {
    await call();
  } catch (error) {
    warn("listener_failed", `The worker's listener failed ${when}: ${reasonOf(error)}`);
  }
}

import { z } from "zod";

/** A line of JSON that the agent program prints. */
export const Line = z.union([
  z.object({ signedUp: z.string(), added: z.boolean(), count: z.int() }),
  z.object({ waiting: z.literal(true) }),
  z.object({ answer: z.string() }),
]);
export type Line = z.infer<typeof Line>;

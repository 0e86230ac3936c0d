import { z } from "zod";
import {
  clockSchema,
  integerFrom,
  nonEmptyString,
  numberFrom,
  objectWithMethods,
  sha256Schema,
} from "../../internal/options/optionSchemas.ts";
import { strictOptions } from "../../internal/options/checkSchema.ts";
import type { ProcessIdentity } from "../../nodejs/ProcessIdentity.ts";

export const logArguments = {
  owner: z.object({
    host: z.string(),
    processId: z.int(),
    nonce: nonEmptyString,
    incarnation: z.string().optional(),
    mustExist: z.boolean().optional(),
    drops: z.boolean().optional(),
  }) as z.ZodType,
  read: strictOptions(() => ({
    after: integerFrom(0).optional(),
    upTo: integerFrom(0).optional(),
    sinceSnapshot: z.boolean().optional(),
  })) as z.ZodType,
  encodedAppends: strictOptions(() => ({ upTo: integerFrom(0).optional() })) as z.ZodType,
  reason: z.string() as z.ZodType,
} as const;

export const leaseOptions = {
  leaseMs: numberFrom(1).optional(),
  clock: clockSchema.optional(),
  processIdentity: objectWithMethods<ProcessIdentity>("isRunning").optional(),
  sha256: sha256Schema.optional(),
};

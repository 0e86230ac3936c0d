import type { z } from "zod";
import { customSchema } from "../internal/options/optionSchemas.ts";
import type { Telemetry } from "./Telemetry.ts";

/** The schema of the option `telemetry`. Accepts objects from another copy of this package. */
export const telemetrySchema: z.ZodType<Telemetry> = customSchema(
  "a Telemetry, such as openTelemetry() makes",
  (value) => typeof (value as Partial<Telemetry> | null)?.agents?.run === "function",
);

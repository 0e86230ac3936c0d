import type { z } from "zod";
import { objectWithMethods } from "../internal/options/optionSchemas.ts";
import type { Telemetry } from "./Telemetry.ts";

/** The option `telemetry`. */
export const telemetrySchema: z.ZodType<Telemetry> = objectWithMethods<Telemetry>("start");

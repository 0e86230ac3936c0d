export { codingAgentDefaults, type CodingAgentOptions } from "./coding/codingAgentDefaults.ts";

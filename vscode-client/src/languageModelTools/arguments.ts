/** Arguments of a model, held against the tool's schema before anybody is asked about them. The server does it again. */
import { type OutputUnit, type Schema, Validator } from "@cfworker/json-schema";

const TOLD_MAX = 5;

/** Why the arguments do not fit, for the model; undefined where they do. */
export function misfit(tool: string, schema: object, args: unknown): string | undefined {
  if (typeof args !== "object" || args === null || Array.isArray(args)) {
    return `${tool} takes its arguments as one object`;
  }
  const { valid, errors } = new Validator(schema as Schema, "2020-12", false).validate(args);
  if (valid) {
    return undefined;
  }
  const told = [...new Set(errors.filter(isTelling).map(inWords))];
  const more = told.length > TOLD_MAX ? `; and ${told.length - TOLD_MAX} more` : "";
  return `the arguments do not fit ${tool}: ${told.slice(0, TOLD_MAX).join("; ")}${more}. It takes: ${takes(schema)}`;
}

/** Units that only say that something below them is wrong tell nothing. */
function isTelling({ keyword }: OutputUnit): boolean {
  return !["properties", "items", "anyOf", "oneOf", "allOf", "$ref", "false", "prefixItems"].includes(keyword);
}

function inWords({ instanceLocation, error }: OutputUnit): string {
  const where = instanceLocation.replace(/^#\/?/, "").replaceAll("/", ".");
  const what = error.replace(/\.$/, "").replace(/^Instance /, "it ");
  return where ? `${where}: ${what}` : what;
}

/** The names of all arguments, those that may be left out with a question mark. */
function takes(schema: object): string {
  const { properties = {}, required = [] } = schema as { properties?: object; required?: readonly string[] };
  const names = Object.keys(properties).map((name) => (required.includes(name) ? name : `${name}?`));
  return names.length > 0 ? names.join(", ") : "nothing";
}

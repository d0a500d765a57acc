// What a person does on the pages that have a script, by name. A flow gets the address of the
// service, a page of a browser, and a function that reports a fault.

export const flows = {};

// libyang 2.1.30 loses the value of a union that an XPath expression compares (yang_models.hpp): not ours to
// report. LeakSanitizer calls this function.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() { return "leak:lyplg_type_store_union\n"; }

//! Polish.

use super::super::cue::Sort;
use super::Table;

pub(super) const PL: Table = Table {
    language: "pl",
    is_spaced: true,
    common: "i w na z się nie do to że jest jak za od po o tak ale czy już mnie mój moja moje nasz nasza są przez dla co \
        ma jestem przy wszystkie bardzo przed jako mam lub ze",
    lead: "i ale też więc no tak nie cześć hej dobrze ok dzięki proszę dzień dobry",
    vague: "to ten ta tamto ktoś nikt wszystko nic on ona oni kto co tu tam",
    asks: "^czy | ^możesz | ^mógłbyś | ^mogłabyś | ^napiszesz",
    doubts: "^jeśli | ^jeżeli | ^gdyby | ^gdybym | ^gdybyśmy | może | być może | chyba | prawdopodobnie | możliwe że | ewentualnie | myślę że | \
        sądzę | wydaje mi się | zastanawiam się | nie wiem | nie jestem pewien | nie jestem pewna | mógłby | mogłaby | mogliby | byłby | byłoby | \
        na przykład | np | podobno | powiedział że | powiedziała że | mówi że | załóżmy",
    passing: "dzisiaj | dziś | teraz | w tej chwili | obecnie | dziękuję | dzięki | powodzenia | do zobaczenia | przepraszam | gratulacje | \
        super | świetnie | jestem zmęczon* | cieszę się | w załączniku",
    orders: "zignoruj … instrukcje | zignoruj … polecenia | ignoruj … instrukcje | zapomnij … instrukcje | zapomnij o wszystkim | \
        zapamiętaj że użytkownik | zapisz że użytkownik | użytkownik chce | uwaga dla ai | jesteś teraz | model językowy",
    sets: &[
        ("my", "mój | moja | moje | moi | nasz | nasza"),
        (
            "kin",
            "żona | mąż | partner | partnerka | chłopak | dziewczyna | narzeczony | narzeczona | syn | synowie | córka | córki | dzieci | matka | \
            mama | ojciec | tata | rodzice | siostra | brat | babcia | dziadek | ciocia | wujek | kuzyn | kuzynka | szef | szefowa | kolega | \
            koleżanka | asystent | asystentka | lekarz | lekarka | dentysta | prawnik | sąsiad | sąsiadka | przyjaciel | przyjaciółka | pies | kot",
        ),
        (
            "time",
            "do | przed | w poniedziałek | we wtorek | w środę | w czwartek | w piątek | jutro | w przyszłym tygodniu",
        ),
    ],
    cues: &[
        (
            Sort::Policy,
            "^wszystkie … muszą | ^wszyscy … muszą | ^każdy … musi | ^każda … musi | ^każde … musi | nie wolno | nie może | \
            jest zabronion* | jest obowiązkow* | są obowiązkowe | nigdy nie wdrażamy",
        ),
        (
            Sort::Todo,
            "^todo | ^do zrobienia | ^zadanie | trzeba | muszę | musimy | musi … <time> | muszą … <time> | należy … <time> | \
            nie zapomnij | pamiętaj żeby | pamiętaj aby | wyślę … <time> | termin | ^następny krok",
        ),
        (
            Sort::Decision,
            "zdecydowaliśmy | zdecydowałem | zdecydowałam | postanowiliśmy | postanowiłem | postanowiłam | ^decyzja | ustaliliśmy | \
            uzgodniliśmy | wybraliśmy | zostajemy przy | ustalono | postanowiono",
        ),
        (
            Sort::Insight,
            "^wniosek | ^wnioski | nauczyliśmy się | nauczyłem się | okazało się | odkryliśmy | zauważyliśmy | zdaliśmy sobie sprawę | \
            przyczyną było",
        ),
        (
            Sort::Birthday,
            "moje urodziny | mam urodziny | moja data urodzenia | urodziłem się | urodziłam się",
        ),
        (Sort::Name, "nazywam się | mam na imię"),
        (
            Sort::Contact,
            "moje imię | moje nazwisko | mów mi | mów do mnie | mój numer | mój telefon | mój e mail | mój mail | mój adres | można się ze mną skontaktować",
        ),
        (
            Sort::Instruction,
            "^odpowiadaj | od teraz | od tej pory | w przyszłości | ^nie dzwoń | ^nie używaj | ^zawsze | ^nigdy | \
            ^używaj zawsze | chcę żebyś",
        ),
        (
            Sort::Kin,
            "^<my> <kin> | mam <kin> | mam dwóch <kin> | mam dwie <kin> | mamy dwoje <kin> | <my> <kin> ma na imię | <my> <kin> jest | \
            mam córkę | mam syna | mam żonę | mam męża | mam brata | mam siostrę | mam psa | mam kota",
        ),
        (
            Sort::Constraint,
            "uczulenie | uczulony | uczulona | alergię | nietolerancj* | nie jem | nie piję | nie mogę jeść | najwyżej | maksymalnie | \
            nie więcej niż | jest ograniczon* | są ograniczone | budżet wynosi",
        ),
        (
            Sort::Preference,
            "wolę | preferuję | lubię | uwielbiam | kocham | nienawidzę | nie lubię | nie znoszę | zawsze używam | nigdy nie używam | \
            zwykle | jestem wegetarian* | jestem wegan* | mój ulubion* | moja ulubion* | moje ulubion* | unikam | woli",
        ),
        (
            Sort::Biography,
            "mieszkam | pracuję | pochodzę z | jestem z | studiuję | mówię po | jestem żonaty | jestem mężatką | mam … lat | \
            przeprowadziłem się | przeprowadziłam się | jestem inżynierem | jestem lekarzem | jestem nauczyciel* | mój zawód | moje biuro | mój dom | \
            mój samochód | moja praca | moim zawodem | uczę | kieruję | gram w | mam cukrzycę",
        ),
        (
            Sort::Project,
            "używamy | korzystamy z | nasza … jest | nasz … jest | nasza … ma | nasz … ma | nasz … używa | nasza … używa | nasze … jest | \
            nasze biuro | nasz serwer | nasza firma | zatrudniamy | pracujemy z | ^korekta :",
        ),
        (
            Sort::Thing,
            "działa na | stoi w | znajduje się | mieści się | jest napisan* | opiera się | składa się z | używa | obsługuje | zamyka się o | \
            otwiera się o | zaczyna się | kończy się | należy do | odpowiada za | jest odpowiedzialn* | pracuje jako | pracuje w | mieszka w | mówi po | \
            kieruje | kosztuje | odbywa się | jest dyrektorem | jest kierownikiem",
        ),
        (Sort::Idea, "^pomysł | ^myśl | myślę że | moim zdaniem | moglibyśmy | może"),
    ],
};

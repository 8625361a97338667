//! Spanish.

use super::super::cue::Sort;
use super::Table;

pub(super) const ES: Table = Table {
    language: "es",
    is_spaced: true,
    common: "el la los las de que y en un una es por con no para su se lo como más pero sus le ya mi mis me yo nuestro \
        nuestra del al está son muy todos todas hay antes desde cada tengo soy",
    lead: "y pero también así bueno vale ok sí no hola gracias pues además por favor buenas",
    vague: "eso esto esta este alguien nadie todo nada él ella ellos quien qué aquí ahí",
    asks: "^puedes | ^podrías | ^puede usted | ^podría",
    doubts: "^si | quizá | quizás | tal vez | a lo mejor | probablement* | posiblemente | creo que | pienso que | supongo | me pregunto | \
        no sé | no estoy seguro | no estoy segura | podría | podríamos | sería | fuera | imagina | supongamos | por ejemplo | parece que | \
        al parecer | dice que | dijo que | dicen que | viajaría",
    passing: "hoy | ahora | en este momento | esta noche | esta mañana | gracias | qué calor | qué frío | suerte | hasta luego | nos vemos | \
        lo siento | perdón | felicidades | genial | estoy cansad* | estoy en el | estoy content* | adjunto",
    orders: "ignora … instrucciones | ignore … instrucciones | olvida … instrucciones | olvide … instrucciones | \
        guarda … que el usuario | recuerda que el usuario | memoriza que | el usuario quiere | nota para la ia | ahora eres | \
        modelo de lenguaje | querido asistente",
    sets: &[
        ("my", "mi | mis | nuestro | nuestra | nuestros"),
        (
            "kin",
            "esposa | esposo | mujer | marido | pareja | novio | novia | hijo | hija | hijos | hijas | madre | mamá | padre | papá | \
            padres | hermana | hermano | hermanos | abuela | abuelo | tía | tío | primo | prima | sobrino | sobrina | jefe | jefa | compañero | \
            compañera | asistente | médico | médica | dentista | abogado | abogada | vecino | vecina | amigo | amiga | perro | perra | gato | gata",
        ),
        (
            "time",
            "antes de* | hasta | para el | el lunes | el martes | el miércoles | el jueves | el viernes | mañana | la próxima semana",
        ),
    ],
    cues: &[
        (
            Sort::Policy,
            "^todos … deben | ^todas … deben | ^cada … debe | no deben | no debe | está prohibido | está prohibida | \
            es obligatorio | es obligatoria | son obligatorios | nosotros nunca | nosotros siempre | nunca desplegamos",
        ),
        (
            Sort::Todo,
            "^todo : | ^tarea : | ^pendiente | hay que … <time> | tengo que | tenemos que | debo | debemos | debe … <time> | \
            deben … <time> | tiene que … <time> | no olvides | no olvidar | recuerda … antes | enviaré | fecha límite | plazo | \
            ^próximo paso | necesito … antes | hay que",
        ),
        (
            Sort::Decision,
            "decidimos | hemos decidido | he decidido | se decidió | ^decisión | acordamos | hemos acordado | se acordó | \
            quedamos en | elegimos | hemos elegido | optamos por | nos quedamos con | vamos a usar | no vamos a",
        ),
        (
            Sort::Insight,
            "^lección | aprendimos que | aprendí que | nos dimos cuenta | me di cuenta | resultó que | resulta que | \
            descubrimos | descubrí | ^conclusión | la causa fue",
        ),
        (Sort::Birthday, "mi cumpleaños | mi fecha de nacimiento | nací el"),
        (Sort::Name, "me llamo | mi nombre es"),
        (
            Sort::Contact,
            "mi apellido | mi apodo | llámame | llámeme | mi número | mi teléfono | mi móvil | mi celular | mi correo | mi dirección | mi e mail | localizarme en",
        ),
        (
            Sort::Instruction,
            "^responde | ^responda | ^contesta | de ahora en adelante | a partir de ahora | en el futuro | ^siempre responde | \
            ^no me llames | ^no uses | ^nunca | ^tutéame | quiero que me",
        ),
        (
            Sort::Kin,
            "^<my> <kin> | tengo un <kin> | tengo una <kin> | tengo dos <kin> | tenemos dos <kin> | <my> <kin> se llama | <my> <kin> es",
        ),
        (
            Sort::Constraint,
            "alérgico | alérgica | alergia | intolerante | celíaco | celíaca | no como | no bebo | no puedo comer | como máximo | \
            a lo sumo | no más de | está limitado | está limitada | limitado a | limitada a | presupuesto es | no debe superar",
        ),
        (
            Sort::Preference,
            "prefiero | me gusta | me gustan | me encanta | me encantan | odio | detesto | no me gusta | no me gustan | siempre uso | \
            nunca uso | siempre | nunca | mi … favorito | mi … favorita | soy vegetarian* | soy vegan* | suelo | evito | prefiere",
        ),
        (
            Sort::Biography,
            "vivo en | trabajo como | trabajo en | trabajo para | soy de | soy un | soy una | nací en | estudio | estudié | hablo | \
            tengo … años | me mudé | soy ingenier* | soy médic* | soy profesor* | soy abogad* | estoy casad* | mi oficina | mi casa | mi coche | \
            mi trabajo | mi profesión | mi lengua materna | enseño | dirijo | soy diabétic* | juego al",
        ),
        (
            Sort::Project,
            "usamos | utilizamos | nuestro … es | nuestra … es | nuestro … usa | nuestra … usa | nuestro … está | nuestra … está | \
            nuestra … tiene | nuestro … tiene | nuestra … cierra | nuestra … queda | tenemos … empleados | trabajamos con | ^corrección :",
        ),
        (
            Sort::Thing,
            "está escrito en | está escrita en | se ejecuta en | corre en | está ubicad* | está basad* | se encuentra en | usa | utiliza | \
            cierra a las | abre a las | empieza a las | empieza el | termina el | es responsable | trabaja como | trabaja en | vive en | habla | \
            dirige | cuesta | pertenece a | se guardan en | se almacenan | es el director | es la directora | consta de | tiene lugar",
        ),
        (
            Sort::Idea,
            "^idea | ^pensamiento | creo que | pienso que | en mi opinión | podríamos | quizás | tal vez",
        ),
    ],
};
